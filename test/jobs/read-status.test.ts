import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ErrorCode, KafkaBackupError } from '../../src/errors.ts'
import { readStatus } from '../../src/jobs/read-status.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { never } from '../archive/sample-archive.ts'
import { LogRun } from '../retention/log-world.ts'
import { HOUR, World } from '../retention/world.ts'

async function twoBackups(): Promise<World> {
  const world = new World()
  await (await LogRun.open(world, 'a')).rounds(3, HOUR)
  await world.commit('b')
  return world
}

/** Fails every call for keys that the pattern matches. */
function failing(storage: Storage, keys: RegExp, code: ErrorCode): Storage {
  const refuse = (key: string) => {
    if (keys.test(key)) throw new KafkaBackupError(code, `${key} cannot be read`)
  }
  return {
    ...storage,
    async *list(prefix, signal) {
      refuse(prefix)
      yield* storage.list(prefix, signal)
    },
    read: async (key, signal) => {
      refuse(key)
      return storage.read(key, signal)
    },
    readRange: async (key, ...rest) => {
      refuse(key)
      return storage.readRange(key, ...rest)
    },
  }
}

async function statusOf(world: World, storage: Storage) {
  const found = await readStatus(storage, { expectedOf: () => undefined, at: '' }, world.clock.now(), never)
  return found.map(({ backup_id, level, findings }) => {
    const kinds = findings.filter(one => one.level !== 'notice').map(({ kind }) => kind)
    return [backup_id, level, kinds]
  })
}

describe('the status of a location', () => {
  test('tells what is denied, or not answered, from damage and from a backup that is not there', async () => {
    const world = await twoBackups()
    const fine = ['b', 'ok', []]
    assert.deepEqual(await statusOf(world, world.storage), [['a', 'ok', []], fine])
    const denied = failing(world.storage, /^a\/commits/, 'STORAGE_DENIED')
    assert.deepEqual(await statusOf(world, denied), [['a', 'critical', ['denied']], fine])
    const manifest = failing(world.storage, /^a\/checkpoints|^b\/manifests\/0/, 'STORAGE_UNAVAILABLE')
    assert.deepEqual((await statusOf(world, manifest))[1], ['b', 'critical', ['unreachable']])
  })

  test('shows a backup whose marker is lost and whose commits are denied', async () => {
    const world = await twoBackups()
    world.storage.objects.delete('a/manifests/00000001.json')
    const denied = failing(world.storage, /^a\/commits/, 'STORAGE_DENIED')
    assert.deepEqual((await statusOf(world, denied))[0], ['a', 'critical', ['denied']])
  })

  test('reports that generations cannot be listed, because nothing is then known of the usual interval', async () => {
    const world = await twoBackups()
    const held = failing(world.storage, /^b\/holds/, 'STORAGE_DENIED')
    assert.deepEqual((await statusOf(world, held))[1], ['b', 'warning', ['denied']])
  })

  test('reports results of verifications that cannot be read', async () => {
    const world = await twoBackups()
    const reports = failing(world.storage, /^b\/reports\/verified/, 'STORAGE_DENIED')
    assert.deepEqual((await statusOf(world, reports))[1], ['b', 'warning', ['verification_unknown']])
  })
})
