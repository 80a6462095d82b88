import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { type Fault, withFaults } from '../fakes/faulty-storage.ts'

const signal = new AbortController().signal
let base = ''
let count = 0

before(async () => {
  base = await mkdtemp(join(tmpdir(), 'kafka-backup-faulty-'))
})
after(() => rm(base, { recursive: true }))

function open(faults: readonly Fault[], seed = 1) {
  return withFaults(openFilesystemStorage({ path: join(base, String(++count)) }), faults, { seed })
}

test('a fault strikes at the nth call that matches, and nowhere else', async () => {
  const storage = open([{ on: 'create', key: /^x/, nth: 2, effect: { kind: 'throw-before' } }])
  await storage.create('x1', Buffer.from('1'), signal)
  await storage.create('y', Buffer.from('2'), signal)
  await assert.rejects(storage.create('x2', Buffer.from('3'), signal), { code: 'STORAGE_UNAVAILABLE' })
  assert.equal(await storage.stat('x2', signal), undefined)
  await storage.create('x2', Buffer.from('4'), signal)
  storage.verifyAllFaultsExercised()
})

test('throw-after strikes when the call took effect', async () => {
  const storage = open([{ on: 'commit', effect: { kind: 'throw-after' } }])
  const writer = await storage.openWriter('a', signal)
  await writer.write([Buffer.from('x')], signal)
  await assert.rejects(writer.commit(signal), { code: 'STORAGE_UNAVAILABLE' })
  await writer.abort()
  assert.equal((await storage.read('a', signal)).toString(), 'x')
})

test('reads are cut or have a bit flipped', async () => {
  const storage = open([
    { on: 'read', nth: 1, effect: { kind: 'truncate-read', toBytes: 2 } },
    { nth: 2, on: 'read', effect: { kind: 'flip-bit', bit: 9 } },
  ])
  await storage.create('a', Buffer.from('abcd'), signal)
  assert.equal((await storage.read('a', signal)).toString(), 'ab')
  assert.equal((await storage.read('a', signal)).toString(), 'a`cd')
  assert.equal((await storage.read('a', signal)).toString(), 'abcd')
})

test('the same seed gives the same failures, another seed others', async () => {
  const run = async (seed: number) => {
    const storage = open([{ probability: 0.3, effect: { kind: 'throw-before' } }], seed)
    let pattern = ''
    for (let i = 0; i < 60; i++) {
      pattern += await storage.stat('a', signal).then(
        () => '.',
        () => 'x',
      )
    }
    return pattern
  }
  const pattern = await run(5)
  assert.equal(await run(5), pattern)
  assert.notEqual(await run(6), pattern)
  assert.match(pattern, /x.*\..*x/)
})

test('a fault that never struck is told', async () => {
  const storage = open([{ on: 'remove', key: /^x/, nth: 3, effect: { kind: 'throw-after' } }])
  await storage.remove('x', signal)
  assert.throws(() => storage.verifyAllFaultsExercised(), /never struck.*throw-after on remove of \/\^x\/ no\. 3/s)
})

test('every call of the storage and of its writers counts', async () => {
  const storage = open([])
  const writer = await storage.openWriter('w', signal)
  await writer.write([Buffer.from('x')], signal)
  await writer.abort()
  for await (const _ of storage.list('', signal)) assert.fail('nothing is listed')
  assert.deepEqual(
    storage.calls.map(call => `${call.operation} ${call.key}`),
    ['openWriter w', 'write w', 'abort w', 'list '],
  )
})

for (const [kind, left] of [
  ['kill-before', ['0', '1']],
  ['kill-after', ['0', '1', '2']],
] as const) {
  test(`${kind} ends the process at the third call`, async () => {
    const path = join(base, kind)
    const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)
    const script = `
      import { openFilesystemStorage } from ${url('../../src/storage/file/filesystem.ts')}
      import { withFaults } from ${url('../fakes/faulty-storage.ts')}
      const inner = openFilesystemStorage({ path: ${JSON.stringify(path)} })
      const storage = withFaults(inner, [{ nth: 3, effect: { kind: '${kind}' } }])
      for (let i = 0; i < 9; i++) await storage.create(String(i), Buffer.from('x'), new AbortController().signal)`
    const ended = spawnSync(process.execPath, ['--input-type=module', '-e', script])
    assert.equal(ended.signal, 'SIGKILL', ended.stderr.toString())
    assert.deepEqual((await readdir(path)).sort(), left)
  })
}
