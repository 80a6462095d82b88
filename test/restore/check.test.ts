import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoredGroup } from '../../src/archive/groups-section.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { checkRestore } from '../../src/restore/check.ts'
import { restoreBackup } from '../../src/restore/restore-backup.ts'
import { surveyRestore } from '../../src/restore/survey-restore.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { stored } from '../access/rules.ts'
import { encodeRun } from '../fakes/batches.ts'
import { fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { type Fault, withFaults } from '../fakes/faulty-storage.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { withFakeTarget } from './fake-target.ts'
import { plainOptions } from './plain-options.ts'

const never = new AbortController().signal
const off = { state: 'off' } as const
const positions = [{ topic: 'orders', partition: 0, offset: 3n, leader_epoch: 0, metadata: '', lag: null }]
const billing: StoredGroup = { group: 'billing', type: 'classic', state: 'Empty', members: 0, error: null, positions }
const orders = () => fakeTopic('orders', [[encodeRun(0n, 5)]])

/** The backup `b1` gets a generation with a consumer group and an ACL. */
async function backUpAll(storage: Storage): Promise<void> {
  const source = await startFakeCluster([orders()])
  const options = {
    ...{ backupId: 'b1', topics: { include: ['*'], exclude: [] }, compression: 'none' as const, segmentBytes: 1 << 20 },
    ...{ continuous: false, commitIntervalMs: 3_600_000, memoryBudgetBytes: 4 << 20, connectionsPerBroker: 1 },
    ...{ missingTopics: 'fail' as const, onGap: 'warn' as const, onTruncation: 'fail' as const },
  }
  const parts = {
    ...{ cluster: await source.open(), storage, clock: new JumpingClock(), toolVersion: '0' },
    newRun: () => 'all',
    readGroups: async () => ({ groups: [billing], left_out: [], warnings: [] }),
    readAccess: async () => ({ acls: { state: 'taken' as const, items: [stored({})] }, quotas: off, users: off }),
    onProgress: () => undefined,
  }
  await runBackup(options, parts, never).finally(() => source.close())
}

/** Runs `check` and `restore` of everything while the store denies the objects whose keys match. */
function withDenied(
  denied: RegExp,
  work: (run: {
    check: () => ReturnType<typeof checkRestore>
    restore: () => ReturnType<typeof restoreBackup>
    topic: (name: string) => unknown
  }) => Promise<void>,
): Promise<void> {
  const storage = openMemoryStorage()
  return withFakeTarget(
    [orders()],
    async ({ fake, topic }) => {
      await backUpAll(storage)
      const keys = [...storage.objects.keys()].filter(key => denied.test(key))
      const faults = keys.map((key): Fault => {
        const error = () => new KafkaBackupError('STORAGE_DENIED', `access to ${key} is denied`)
        return { on: 'read', key: new RegExp(key), effect: { kind: 'throw-before', error } }
      })
      const faulty = withFaults(storage, faults)
      const records = plainOptions({ replicationFactor: 1, retention: 'apply' })
      const groups = { exclude: [], mapping: new Map() }
      const request = { records, groups, access: { acls: true, quotas: false, users: false } }
      const cluster = await fake.open()
      const parts = {
        cluster,
        storage: faulty,
        clock: fake.clock,
        onProgress: () => undefined,
        requestTimeoutMs: 1000,
        version: '1',
      }
      await work({
        check: () => checkRestore(request, parts, never),
        restore: () => restoreBackup(request, parts, never),
        topic,
      })
      faulty.verifyAllFaultsExercised()
    },
    storage,
  )
}

test('indexes, consumer groups and access rules are read from the store at the same time', () => {
  const storage = openMemoryStorage()
  return withFakeTarget(
    [orders()],
    async ({ fake }) => {
      await backUpAll(storage)
      const parts = [/\/index-/, /\/groups-/, /\/access-/]
      const asked = new Set<RegExp>()
      const all = Promise.withResolvers<void>()
      const read: Storage['read'] = async (key, signal) => {
        const part = parts.find(one => one.test(key))
        if (part) {
          asked.add(part)
          if (asked.size === parts.length) all.resolve()
          await all.promise
          if (part !== parts[0]) throw new KafkaBackupError('STORAGE_DENIED', `access to ${key} is denied`)
        }
        return storage.read(key, signal)
      }
      const request = {
        records: plainOptions({ replicationFactor: 1, retention: 'apply' }),
        groups: { exclude: [], mapping: new Map() },
        access: { acls: true, quotas: false, users: false },
      }
      const far: Storage = { ...storage, read }
      const cluster = await fake.open()
      const unread: string[] = []
      const onUnread = (part: string) => void unread.push(part)
      const { records } = await surveyRestore(
        request,
        { cluster, storage: far, clock: fake.clock, version: '1', onUnread },
        never,
      )
      assert.equal(records.segments.size, 1)
      assert.deepEqual(unread, ['consumer groups', 'access rules'])
    },
    storage,
  )
})

describe('check of a restore', () => {
  test('reports consumer groups and access rules that cannot be read as failed checks, next to the checks of topics', () =>
    withDenied(/groups-|access-/, async ({ check, restore, topic }) => {
      const { ok, checks } = await check()
      assert.equal(ok, false)
      assert.deepEqual(
        checks.map(({ subject, action, allowed }) => `${subject} ${action} ${allowed ? 'ok' : 'failed'}`),
        [
          'broker 0 connect ok',
          'consumer groups read failed',
          'access rules read failed',
          'backup b1 read ok',
          'topic orders Create ok',
          'topic orders fits ok',
        ],
      )
      const details = checks.filter(({ allowed }) => !allowed).map(({ detail }) => detail)
      const advice = 'Grant the process access to the location.'
      assert.match(details[0] ?? '', new RegExp(`^access to b1/kafka/groups-.* is denied\\. ${advice}$`))
      assert.match(details[1] ?? '', new RegExp(`^access to b1/kafka/access-.* is denied\\. ${advice}$`))
      await assert.rejects(restore(), { code: 'STORAGE_DENIED', message: /groups-/ })
      assert.equal(topic('orders'), undefined, 'nothing is created')
    }))
})
