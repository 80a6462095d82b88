import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GroupsSection, StoredGroup } from '../../src/archive/groups-section.ts'
import type { GroupsReading, Prepared } from '../../src/backup/round.ts'
import { takeGroups } from '../../src/backup/take-sections.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { draftManifest } from '../archive/sample-archive.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const never = new AbortController().signal
const group: StoredGroup = { group: 'g', type: 'classic', state: 'Empty', members: 0, error: null, positions: [] }
const bounds = { logStart: 0n, lastStable: 7n, highWatermark: 9n }
const topic = {
  name: 'a',
  id: 'x',
  internal: false,
  replicationFactor: 1,
  configs: {},
  effectiveConfigs: {},
  leaderless: [],
}
const observed = {
  observedAt: '',
  clusterId: 'c',
  brokers: 1,
  topics: [{ ...topic, partitions: [{ partition: 0, bounds }] }],
  visible: new Set(['a']),
  warnings: [],
}
const before: GroupsSection = {
  state: 'taken',
  taken_at: '',
  key: 'b1/kafka/groups-1.run1.json',
  size: 1,
  blake3: '0'.repeat(64),
  groups: 3,
  positions: 3,
  errors: 0,
}

async function take(read: (() => Promise<GroupsReading>) | undefined, previous?: GroupsSection) {
  const manifest = previous && { ...draftManifest([], { consumer_groups: previous }), format: 'kafka-backup' as const }
  const prepared: Prepared = {
    observed,
    plan: { topics: [], warnings: ['earlier'] },
    previous: manifest && { ...manifest, format_version: 1 as const },
  }
  const storage = openMemoryStorage()
  const ends: unknown[] = []
  const parts = {
    storage,
    clock: new JumpingClock(),
    newRun: () => 'run2',
    onProgress: () => undefined,
    ...(read && {
      readGroups: (asked: unknown) => {
        ends.push(asked)
        return read()
      },
    }),
  }
  const { groups, plan } = await takeGroups(prepared, 'b1', parts, never)
  return { groups, warnings: plan.warnings, storage, ends }
}

describe('the groups of a generation', () => {
  test('are read against the ends that the run has fixed, and stored', async () => {
    const { groups, warnings, storage, ends } = await take(async () => ({
      groups: [group],
      left_out: [],
      warnings: ['later'],
    }))
    assert.deepEqual(ends, [new Map([['a', new Map([[0, 9n]])]])])
    assert.ok(groups?.state === 'taken' && storage.objects.has(groups.key))
    assert.deepEqual(warnings, ['earlier', 'later'])
  })

  test('are off where nobody reads them, which is told when there were some before', async () => {
    assert.deepEqual((await take(undefined)).groups, { state: 'off' })
    assert.deepEqual((await take(undefined)).warnings, ['earlier'])
    assert.match((await take(undefined, before)).warnings.join(), /no longer taken .*had 3/)
  })

  test('do not become none in silence', async () => {
    const none = async () => ({ groups: [], left_out: [], warnings: [] })
    assert.deepEqual((await take(none)).warnings, ['earlier'])
    const { groups, warnings } = await take(none, before)
    assert.equal(groups?.state, 'taken')
    assert.match(warnings.join(), /no consumer group has a committed offset .*had 3/)
  })

  test('that cannot be listed do not stop the backup, and the manifest says so', async () => {
    const { groups, warnings, storage } = await take(async () => {
      throw new KafkaBackupError('KAFKA_NOT_READY', 'no leader')
    }, before)
    assert.ok(groups?.state === 'failed')
    assert.equal(groups.error, 'no leader')
    assert.match(warnings.join(), /could not be listed.*no leader/)
    assert.equal(storage.objects.size, 0)
  })

  test('a store that fails is no reason to go on without them', async () => {
    const fail = async () => {
      throw new KafkaBackupError('STORAGE_FULL', 'full')
    }
    await assert.rejects(take(fail), { code: 'STORAGE_FULL' })
  })
})
