import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Which of the modules http, https and tls of the runtime a process has loaded after these lines. */
async function loadedAfter(lines: string): Promise<string[]> {
  const print = `console.log(process.moduleLoadList.filter(name => /^NativeModule (https?|tls)$/.test(name)).join())`
  const cwd = resolve(import.meta.dirname, '../..')
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', `${lines}\n${print}`], { cwd })
  return stdout
    .trim()
    .split(',')
    .filter(name => name !== '')
}

test('the connection to a cluster loads node:tls only for TLS, and nothing else of node:http', async () => {
  assert.deepEqual(await loadedAfter(`await import('./src/kafka/cluster.ts')`), [])
  const context = `const { TlsContextSource } = await import('./src/kafka/security/tls-context.ts')
    await new TlsContextSource({}, undefined).current()`
  assert.ok((await loadedAfter(context)).includes('NativeModule tls'))
})
