import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)
const opener = new URL('../open-location.ts', import.meta.url).href

/** Prints after each step which SDKs were loaded; they are modules, so the loader is asked. */
const script = `
  import { registerHooks } from 'node:module'
  const loaded = new Set()
  registerHooks({
    load(url, context, next) {
      const name = /@azure\\/(storage-blob|identity)\\//.exec(url)?.[1]
      if (name) loaded.add(name)
      return next(url, context)
    },
  })
  const { openLocation } = await import(${JSON.stringify(opener)})
  const never = new AbortController().signal
  const steps = {}
  const note = name => { steps[name] = [...loaded].sort() }
  await openLocation('/nowhere').stat('a', never)
  note('folder')
  const location = 'az://box/x?account=acme&endpoint=https://127.0.0.1:1/acme&ca_cert=/nowhere'
  process.env.AZURE_STORAGE_KEY = 'a2V5'
  const storage = openLocation(location)
  note('opened')
  const failure = await storage.stat('a', never).catch(error => error.code)
  note('key')
  delete process.env.AZURE_STORAGE_KEY
  const identity = openLocation('az://box?account=acme&endpoint=https://127.0.0.1:1/acme')
  const controller = new AbortController()
  const asking = identity.stat('a', controller.signal).catch(() => undefined)
  while (!loaded.has('identity')) await new Promise(resolve => setImmediate(resolve))
  controller.abort(new Error('enough'))
  await asking
  note('identity')
  console.log(JSON.stringify({ ...steps, failure }))
  process.exit()
`

test('the SDK is loaded when a container is used, and that of identities where one is', {
  timeout: 60_000,
}, async () => {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('AZURE_')))
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { env })
  assert.deepEqual(JSON.parse(stdout), {
    folder: [],
    opened: [],
    key: ['storage-blob'],
    identity: ['identity', 'storage-blob'],
    failure: 'LOCATION_INVALID',
  })
})
