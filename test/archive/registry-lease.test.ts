import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { LeaseParts } from '../../src/archive/held-lease.ts'
import { holdRegistry, type RegistryHold } from '../../src/archive/registry-lease.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { World } from '../retention/world.ts'
import { never } from './sample-archive.ts'

const turn = async () => {
  for (let i = 0; i < 40; i++) await new Promise(resolve => setImmediate(resolve))
}

async function pass(world: World, seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 2) {
    world.clock.pass(2000)
    await turn()
  }
}

/** A restore that wants to hold a registry. */
function start(world: World, urls: string[], parts: Partial<LeaseParts> = {}, kind = 'restore of backup a') {
  const events: ProgressEvent[] = []
  const onProgress = (event: ProgressEvent) => void events.push(event)
  const state: { events: ProgressEvent[]; hold?: RegistryHold; error?: unknown } = { events }
  holdRegistry({ ...world.partsAt(), onProgress, ...parts }, { urls, kind }, never).then(
    hold => Object.assign(state, { hold }),
    error => Object.assign(state, { error }),
  )
  return state
}

const one = ['http://registry:8081']

describe('two restores into one registry', () => {
  test('are kept apart: the second waits, names the first, and begins when that has ended', async () => {
    const world = new World()
    const first = start(world, one)
    await turn()
    const second = start(world, ['http://me:secret@REGISTRY:8081/'], {}, 'restore of backup b')
    await pass(world, 10)
    assert.deepEqual([first.hold !== undefined, second.hold !== undefined], [true, false])
    const [warning] = second.events
    assert.match(
      warning?.type === 'warning' ? warning.message : '',
      /^registry http:\/\/registry:8081 is being written by another run \(restore of backup a on h1, process 1, since 2026-03-15T12:00:00.000Z\); waiting up to /,
    )
    await first.hold?.release()
    await pass(world, 4)
    assert.ok(second.hold)
    await second.hold.release()
    await second.hold.release()
    assert.deepEqual(world.keys(), [])
  })

  test('are refused to the second where the first renews its lease, with what to do after a crash', async () => {
    const world = new World()
    const first = start(world, one)
    await turn()
    const second = start(world, one)
    await pass(world, 44)
    assert.ok(second.error instanceof KafkaBackupError)
    assert.deepEqual([second.error.code, second.error.exitCode], ['WRITER_CONFLICT', 5])
    assert.match(second.error.message, /^registry http:\/\/registry:8081 is being written by another run \(restore of/)
    assert.match(second.error.help, /After a crash nothing has to be removed: .* expires after 2 minutes\.$/)
    await first.hold?.release()
  })

  test('are kept apart where their lists of addresses overlap, in any order', async () => {
    const world = new World()
    const first = start(world, ['http://b', 'http://a'])
    await turn()
    const second = start(world, ['http://c', 'http://b'])
    const other = start(world, ['http://d'])
    await pass(world, 10)
    assert.deepEqual([first.hold !== undefined, second.hold, other.hold !== undefined], [true, undefined, true])
    await first.hold?.release()
    await pass(world, 4)
    assert.ok(second.hold)
  })

  test('do not lock out the run after a crash: at once on the same machine, else when the lease has expired', async () => {
    for (const [hasEnded, seconds] of [
      [true, 2],
      [false, 124],
    ] as const) {
      const world = new World()
      const killed = start(world, one)
      await turn()
      const kept = world
        .keys()
        .map(key => [key, world.storage.objects.get(key), world.storage.modified.get(key)] as const)
      await killed.hold?.release()
      for (const [key, bytes, modifiedMs] of kept) {
        world.storage.objects.set(key, bytes ?? assert.fail())
        world.storage.modified.set(key, modifiedMs ?? assert.fail())
      }
      const next = start(world, one, { hasEnded: () => hasEnded })
      await turn()
      assert.equal(next.hold !== undefined, hasEnded)
      await pass(world, seconds)
      assert.ok(next.hold)
      await next.hold.release()
    }
  })

  test('are noticed by the first where it could not renew its lease in time', async () => {
    const world = new World()
    let isDown = false
    const { storage } = world.partsAt()
    const replace: typeof storage.replace = (...args) =>
      isDown ? Promise.reject(new KafkaBackupError('STORAGE_UNAVAILABLE', 'down')) : storage.replace(...args)
    const first = start(world, one, { storage: { ...storage, replace } })
    await pass(world, 300)
    first.hold?.assertHeld()
    isDown = true
    await pass(world, 124)
    assert.throws(() => first.hold?.assertHeld(), { code: 'WRITER_CONFLICT', message: /could not be renewed in time/ })
    isDown = false
    await pass(world, 44)
    assert.throws(() => first.hold?.assertHeld(), { code: 'WRITER_CONFLICT' })
    await first.hold?.release()
  })

  test('are not kept apart where no lease may be written, which is reported', async () => {
    const world = new World()
    const denied = new KafkaBackupError('STORAGE_DENIED', 'not allowed')
    const storage = { ...world.partsAt().storage, create: () => Promise.reject(denied) }
    const first = start(world, one, { storage })
    await turn()
    assert.ok(first.hold)
    const [note] = first.events
    assert.match(
      note?.type === 'note' ? note.message : '',
      /a second restore into this registry at the same time is not prevented: not allowed/,
    )
  })
})
