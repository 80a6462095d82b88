import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Actions, realActions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

/** Runs the command until it has said where it is, calls back, and stops it with a signal. */
async function serve(args: string[], visit: (url: string) => Promise<void>, actions: Actions = realActions) {
  const io = new FakeIo()
  const printed = new Promise<void>(resolve => {
    const { write } = io.stdout
    io.stdout.write = function (text: string) {
      write.call(this, text)
      resolve()
    }
  })
  const ended = main(['registry', 'serve', ...args], io, actions)
  await printed
  await visit(/http:\/\/[\w.:[\]]+/.exec(io.stdout.text)?.[0] ?? '')
  io.signal('SIGTERM')
  return { io, code: await ended }
}

test('registry serve says where it is, answers, and ends with 0 when it is stopped', async () => {
  let address = ''
  const { code, io } = await serve(['--listen', '127.0.0.1:0', '--first-id', '1001', '--format', 'json'], async url => {
    address = url
    const body = JSON.stringify({ schema: '"string"' })
    const response = await fetch(`${url}/subjects/a/versions`, { method: 'POST', body })
    assert.equal(((await response.json()) as { id: number }).id, 1001)
  })
  assert.equal(code, 0)
  assert.deepEqual(JSON.parse(io.stdout.text), { url: address })
  await assert.rejects(fetch(`${address}/subjects`))
})

test('registry serve listens on this machine alone unless it is told otherwise', async () => {
  const seen: unknown[] = []
  const actions = fakeActions({
    openRegistry: async options => {
      seen.push(options)
      return { url: 'http://127.0.0.1:1', close: async () => undefined }
    },
  })
  await serve([], async () => undefined, actions)
  await serve(['--listen', '[::1]:9'], async () => undefined, actions)
  assert.deepEqual(seen, [
    { host: '127.0.0.1', port: 8081, firstId: 1 },
    { host: '::1', port: 9, firstId: 1 },
  ])
})

for (const args of [
  ['--listen', '8081'],
  ['--listen', 'host:99999'],
  ['--listen', ''],
  ['--first-id', '0'],
  ['--first-id', 'x'],
  ['--first-id', '2147483648'],
]) {
  test(`registry serve ${args.join(' ')} is refused`, async () => {
    const io = new FakeIo()
    assert.equal(await main(['registry', 'serve', ...args], io, realActions), 2)
    assert.match(io.stderr.text, new RegExp(`${args[0]} ${args[1]} is no`))
  })
}

test('registry wants to be told what to do', async () => {
  const io = new FakeIo()
  assert.equal(await main(['registry'], io, realActions), 2)
  assert.equal(await main(['registry', 'export'], io, realActions), 2)
})
