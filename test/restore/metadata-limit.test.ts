import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoredGroup } from '../../src/archive/groups-section.ts'
import type { Reader } from '../../src/kafka/wire/reader.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { findNoRoom } from '../../src/restore/note-room.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { backUpTopics, type FakeTarget, withFakeTarget } from './fake-target.ts'

const SETTING = 'offset.metadata.max.bytes'
const source = () => [fakeTopic('orders', [[encodeRun(0n, 4)], [encodeRun(0n, 9)]])]
const groupWith = (group: string, metadata = ''): StoredGroup => ({
  ...{ group, type: 'classic', state: 'Empty', members: 0, error: null },
  positions: [0, 1].map(partition => ({
    ...{ topic: 'orders', partition, offset: 2n, leader_epoch: 0, lag: 0n },
    metadata: partition === 1 ? metadata : '',
  })),
})

/** A target whose brokers take so much metadata, and report it or not. */
async function withLimit(
  limit: number,
  stored: readonly StoredGroup[],
  work: (target: FakeTarget) => Promise<void>,
  isReported = true,
): Promise<void> {
  const storage = openMemoryStorage()
  const run = async (target: FakeTarget) => {
    await backUpTopics(storage, source(), undefined, [...stored])
    target.carry = { exclude: [], mapping: new Map() }
    target.maxMetadataBytes = limit
    target.before = ({ key, body }) =>
      isReported && key === API.describeConfigs && isOfBroker(body) ? encodeBrokerConfig(String(limit)) : undefined
    await work(target)
  }
  await withFakeTarget(source(), run, storage)
}

function isOfBroker(body: Reader): boolean {
  const { position } = body
  body.uvarint()
  const type = body.int8()
  body.position = position
  return type === 4
}

function encodeBrokerConfig(value: string): Writer {
  const writer = new Writer().int32(0)
  const config = () => {
    writer.string(SETTING).string(value).boolean(false).int8(4).boolean(false)
    writer.array([], () => undefined)
    writer.int8(2).string(null).noTags()
  }
  const broker = () => writer.int16(0).string(null).int8(4).string('0').array([0], config).noTags()
  return writer.array([0], broker).noTags()
}

const committedFor = ({ groups }: FakeTarget, group: string) =>
  [...(groups.get(group) ?? [])].map(([key, { offset, metadata }]) => [key, offset, metadata.length])

describe('the progress of a restore, and the metadata that brokers take', () => {
  const found = (value: string | null) =>
    findNoRoom({ backupId: 'b1' }, new Map([[SETTING, { value, source: 'other' as const }]])).map(one => one.severity)

  test('is refused only where not even the shortest note fits', () => {
    assert.deepEqual(['128', '137', '138', '250', '360', '4096'].map(found), [
      ...[['error'], ['error']],
      ...[['warning'], ['warning']],
      ...[[], []],
    ])
  })

  test('is not judged where a service hides the setting', () => {
    assert.deepEqual([null, '', 'hidden'].map(found), [[], [], []])
    assert.deepEqual(findNoRoom({ backupId: 'b1' }, new Map()), [])
  })

  test('a restore whose notes are short is written to brokers that take little', () =>
    withLimit(250, [groupWith('billing')], async target => {
      assert.equal((await target.restore()).consumerGroups.totals.committed, 1)
      assert.match(target.warned.join(), /its brokers take 250 bytes of metadata .* may need up to/)
    }))

  test('more groups than brokers have room for are a warning, although they are fewer than 400', () => {
    const many = Array.from({ length: 100 }, (_, i) => groupWith(`group-${i}`))
    return withLimit(512, many, async target => {
      await target.restore()
      assert.match(
        target.warned.join('\n'),
        /more than 41 groups get offsets on 2 partitions, such as 100 on orders\/0/,
      )
    })
  })
})

describe('a group with longer metadata than the brokers of the target take', () => {
  const long = [groupWith('billing', 'x'.repeat(600)), groupWith('search')]

  test('is a blocker, with the group, both sizes and the setting', () =>
    withLimit(512, long, async target => {
      const named =
        /group billing: .*metadata .* orders\/1 has 600 characters, .* take 512 .*\(set offset\.metadata\.max\.bytes to at least 600 .*exclude/
      await assert.rejects(target.restore(), named)
      assert.deepEqual([target.fake.state.topics, target.groups.get('search')], [[], undefined])
      target.carry = { ...target.carry, exclude: ['billing'] }
      assert.equal((await target.restore()).consumerGroups.totals.committed, 1)
    }))

  test('fails alone where the restore has begun, with a warning first', () =>
    withLimit(512, long, async target => {
      target.carry = { ...target.carry, exclude: ['billing'] }
      await target.restore()
      target.carry = { ...target.carry, exclude: [] }
      const { totals, groups } = (await target.restore()).consumerGroups
      assert.deepEqual(totals, { groups: 2, committed: 0, kept: 1, failed: 1 })
      assert.match(target.warned.join('\n'), /group billing: .*600 characters.*the group fails/)
      assert.match(groups[0]?.error ?? '', /OFFSET_METADATA_TOO_LARGE \(12\): .* 600 characters.*offset\.metadata\.max/)
    }))

  test('is restored where they take more than by default', () =>
    withLimit(8192, [groupWith('billing', 'x'.repeat(5000))], async target => {
      assert.equal((await target.restore()).consumerGroups.totals.failed, 0)
      assert.deepEqual(committedFor(target, 'billing'), [
        ['orders/0', 2n, 0],
        ['orders/1', 2n, 5000],
      ])
    }))

  test('is a warning where the setting cannot be read, and more than the default', async () => {
    const longer = [groupWith('billing', 'x'.repeat(5000))]
    const work = async (target: FakeTarget) => {
      const { totals } = (await target.restore()).consumerGroups
      assert.equal(totals.failed, target.maxMetadataBytes < 5000 ? 1 : 0)
      assert.match(target.warned.join('\n'), /group billing: .* 5000 characters.* 4096 by default/)
    }
    for (const limit of [4096, 8192]) await withLimit(limit, longer, work, false)
  })
})
