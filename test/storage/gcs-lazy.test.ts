import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)
const opener = new URL('../open-location.ts', import.meta.url).href

/** Prints after each step whether a module of the library is loaded. */
const script = `
  import { createRequire } from 'node:module'
  const { cache } = createRequire(${JSON.stringify(opener)})
  const isLoaded = () => Object.keys(cache).some(path => path.includes('google-auth-library'))
  const { openLocation } = await import(${JSON.stringify(opener)})
  const never = new AbortController().signal
  await openLocation('/nowhere').stat('a', never)
  const folder = isLoaded()
  const storage = openLocation('gs://bucket/x?endpoint=https://127.0.0.1:1')
  const opened = isLoaded()
  const failure = await storage.stat('a', never).catch(error => error.code)
  console.log(JSON.stringify({ folder, opened, used: isLoaded(), failure }))
`

test('the library of Google’s identities is loaded when a bucket is used, and never for a folder', async () => {
  const { GOOGLE_APPLICATION_CREDENTIALS: _, ...rest } = process.env
  const env = { ...rest, HOME: '/nowhere', METADATA_SERVER_DETECTION: 'none' }
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { env })
  assert.deepEqual(JSON.parse(stdout), { folder: false, opened: false, used: true, failure: 'STORAGE_DENIED' })
})
