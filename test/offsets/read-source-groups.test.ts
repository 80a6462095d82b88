import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GroupSelection } from '../../src/offsets/model.ts'
import { readSourceGroups } from '../../src/offsets/read-source-groups.ts'
import { startFakeCluster } from '../fakes/fake-cluster.ts'
import { type FakeGroup, type FakeGroups, fakeGroup, serveGroups } from '../fakes/fake-groups.ts'
import { serveShareGroups } from '../fakes/fake-share-groups.ts'

const never = new AbortController().signal
const everything: GroupSelection = { include: ['*'], exclude: [] }
const ends = new Map([
  [
    'a',
    new Map([
      [0, 100n],
      [1, 50n],
    ]),
  ],
])

async function take(
  all: Record<string, FakeGroup>,
  { hasShareApi, ...changes }: Partial<FakeGroups> & { hasShareApi?: { describe?: number } } = {},
  selection = everything,
) {
  const fake = await startFakeCluster([], 2)
  try {
    const groups = Object.assign(serveGroups(fake, all), changes)
    if (hasShareApi) serveShareGroups(fake, groups, hasShareApi)
    return await readSourceGroups(await fake.open(), selection, ends, never)
  } finally {
    await fake.close()
  }
}

describe('the groups of a backup', () => {
  test('have their positions on its topics, with lag, epoch and metadata, state and members', async () => {
    const busy = fakeGroup({ 'a/0': 90n, 'a/1': 60n, 'b/0': 7n, 'a/7': 1n }, { type: 'Consumer', members: 2 })
    busy.offsets.set('a/1', { offset: 60n, metadata: 'mine', epoch: 3 })
    const { groups, warnings } = await take({ busy, elsewhere: fakeGroup({ 'b/0': 1n }), empty: fakeGroup() })
    const rest = { metadata: '', leader_epoch: 0 }
    assert.deepEqual(groups, [
      {
        group: 'busy',
        type: 'consumer',
        state: 'Stable',
        members: 2,
        error: null,
        positions: [
          { topic: 'a', partition: 0, offset: 90n, lag: 10n, ...rest },
          { topic: 'a', partition: 1, offset: 60n, lag: 0n, metadata: 'mine', leader_epoch: 3 },
          { topic: 'a', partition: 7, offset: 1n, lag: null, ...rest },
        ],
      },
    ])
    assert.deepEqual(warnings, [])
  })

  test('hold one that could not be read with its error, and a warning: it is never missing', async () => {
    const { groups, warnings } = await take({
      denied: fakeGroup({}, { readError: 30 }),
      loading: fakeGroup({ 'a/0': 1n }, { readError: 14 }),
      fine: fakeGroup({ 'a/0': 1n }),
    })
    assert.deepEqual(
      groups.map(({ group, error, positions }) => [group, error === null, positions.length]),
      [
        ['denied', false, 0],
        ['fine', true, 1],
        ['loading', false, 0],
      ],
    )
    assert.match(warnings.join('\n'), /group denied could not be read: .*\n.*group loading could not be read/)
  })

  test('keep the positions of one whose members could not be asked for, which are all that a restore needs', async () => {
    const { groups } = await take({ half: fakeGroup({ 'a/0': 1n }, { describeError: 29 }) })
    assert.deepEqual(
      groups.map(({ error, state, members, positions }) => [error, state, members, positions.length]),
      [[null, 'Empty', null, 1]],
    )
  })

  test('keep the last committed offset where an open transaction holds a newer one, and record which those are', async () => {
    const fine = { 'a/0': 7n, 'a/1': 3n }
    const { groups, warnings } = await take({
      app: fakeGroup(fine, { undecided: ['a/0', 'a/2', 'b/0'] }),
      plain: fakeGroup(fine),
    })
    const [app, plain] = groups
    assert.deepEqual(
      app?.positions.map(({ partition, offset }) => [partition, offset]),
      [
        [0, 7n],
        [1, 3n],
      ],
    )
    assert.deepEqual(app?.undecided, [
      { topic: 'a', partition: 0 },
      { topic: 'a', partition: 2 },
    ])
    assert.equal(app?.error, null)
    assert.equal(plain?.undecided, undefined)
    assert.match(warnings.join('\n'), /^consumer group app: an open transaction .* of a\/0, a\/2; .* never .* for a\/2/)
    assert.equal(warnings.length, 1)
  })

  test('include those of the Streams protocol', async () => {
    const { groups, left_out, warnings } = await take({ app: fakeGroup({ 'a/0': 7n }, { type: 'Streams' }) })
    assert.deepEqual(
      groups.map(({ group, type, positions }) => [group, type, positions.length]),
      [['app', 'streams', 1]],
    )
    assert.deepEqual([left_out, warnings], [[], []])
  })

  test('are those that are selected, without the notes of kafka-backup; those whose start offsets the brokers cannot report are named as not taken', async () => {
    const at = { 'a/0': 1n }
    const all = {
      one: fakeGroup(at),
      two: fakeGroup(at),
      '__kafka-backup.restore.x': fakeGroup(at),
      shared: fakeGroup({}, { type: 'Share' }),
    }
    const { groups, left_out, warnings } = await take(all, {}, { include: ['*'], exclude: ['tw?'] })
    assert.deepEqual(
      groups.map(({ group }) => group),
      ['one'],
    )
    assert.deepEqual(left_out, [{ group: 'shared', type: 'share' }])
    assert.match(warnings.join(), /not in this backup, because the brokers do not report it, .*: shared \(share\)/)
  })

  test('include share groups with their start offsets, and name the partitions that have none', async () => {
    const queue = fakeGroup({ 'a/0': 7n, 'a/1': -1n, 'b/0': 1n, 'b/1': -1n }, { type: 'Share', members: 1 })
    const { groups, left_out, warnings } = await take({ queue, plain: fakeGroup({ 'a/0': 1n }) }, { hasShareApi: {} })
    const [, found] = groups
    assert.deepEqual(found, {
      ...{ group: 'queue', type: 'share', state: 'Stable', members: 1, error: null },
      positions: [{ topic: 'a', partition: 0, offset: 7n, leader_epoch: -1, metadata: '', lag: 93n }],
      unset: [{ topic: 'a', partition: 1 }],
    })
    assert.deepEqual(left_out, [])
    assert.match(warnings.join('\n'), /^share group queue has no start offset on a\/1: .*share\.auto\.offset\.reset$/)
  })

  test('keep a share group that could not be read with its error; one of a cluster without the feature is left out', async () => {
    const queue = fakeGroup({ 'a/0': 7n }, { type: 'Share' })
    const denied = await take({ queue }, { hasShareApi: { describe: 30 } })
    assert.match(denied.groups[0]?.error ?? '', /start offsets of share group queue: .*GROUP_AUTHORIZATION_FAILED/)
    const off = await take({ queue }, { hasShareApi: { describe: 35 } })
    assert.deepEqual([off.groups, off.left_out], [[], [{ group: 'queue', type: 'share' }]])
    const stateless = await take({ queue: fakeGroup({}, { type: 'Share' }) }, { hasShareApi: {} })
    assert.deepEqual([stateless.groups, stateless.left_out], [[], [{ group: 'queue', type: 'share' }]])
    assert.equal(stateless.warnings.length, 1)
  })

  test('may lack some that the login may not see, which is told', async () => {
    const { warnings } = await take({}, { clusterBits: 0 })
    assert.match(warnings.join(), /Grant Describe on the cluster/)
  })
})
