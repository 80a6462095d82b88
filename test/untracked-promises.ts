import asyncHooks from 'node:async_hooks'
import { isMainThread } from 'node:worker_threads'
import { reportCpuSeconds } from './cpu-seconds.ts'

/**
 * Preloaded by `make unit` and `make e2e`. Node's test runner tracks every promise to know the test that created it, which
 * takes half of the CPU time of tests with many promises. It uses that only to name the test of an error that nothing
 * caught. Without it, such an error still fails the run, and its stack is printed; `node --test` with the file alone
 * names the test. Threads have no tests, and their errors come to the main thread.
 */
if (isMainThread) {
  const { createHook } = asyncHooks
  asyncHooks.createHook = callbacks => createHook({ ...callbacks, trackPromises: false })
  await import('node:test')
  asyncHooks.createHook = createHook

  reportCpuSeconds()
  process.on('uncaughtExceptionMonitor', printUncaught)
  process.on('unhandledRejection', printUncaught)
}

function printUncaught(error: unknown): void {
  process.exitCode = 1
  process.stderr.write(`not caught by any test: ${error instanceof Error ? error.stack : String(error)}\n`)
}
