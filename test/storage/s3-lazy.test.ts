import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)
const opener = new URL('../open-location.ts', import.meta.url).href

/** Prints after each step whether a module of the SDK is loaded. */
const script = `
  import { createRequire } from 'node:module'
  const { cache } = createRequire(${JSON.stringify(opener)})
  const isLoaded = () => Object.keys(cache).some(path => path.includes('@aws-sdk'))
  const { openLocation } = await import(${JSON.stringify(opener)})
  const never = new AbortController().signal
  await openLocation('/nowhere').stat('a', never)
  const folder = isLoaded()
  const storage = openLocation('s3://bucket/x?endpoint=https://127.0.0.1:1&ca_cert=/nowhere')
  const opened = isLoaded()
  const failure = await storage.stat('a', never).catch(error => error.code)
  console.log(JSON.stringify({ folder, opened, used: isLoaded(), failure }))
`

test('the SDK is loaded when a bucket is used, and never for a folder', async () => {
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script])
  assert.deepEqual(JSON.parse(stdout), { folder: false, opened: false, used: true, failure: 'LOCATION_INVALID' })
})
