import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { waitFor } from '../use-kube.ts'
import { findTraces, readMachineState } from './traces.ts'

test('a node ends with the process that started it, and leaves nothing', async t => {
  const before = await readMachineState()
  const script = `
    const { startNode } = await import(${JSON.stringify(join(import.meta.dirname, 'node.ts'))})
    const { names } = await startNode()
    process.stdout.write(JSON.stringify(names))
    setInterval(() => {}, 1000)`
  const args = ['--input-type=module', '--eval', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const failed = once(child, 'exit').then(([code]) =>
    Promise.reject(new Error(`the node did not start: exit code ${code}`)),
  )
  const [names] = await Promise.race([once(child.stdout, 'data'), failed])
  child.kill('SIGKILL')
  await waitFor('nothing is left', async () => (await findTraces(JSON.parse(String(names)), before)).length === 0)
})
