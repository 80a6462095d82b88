import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ManifestTopic } from '../../src/archive/manifest.ts'
import { describeFinding } from '../../src/observe/finding.ts'
import { judgeDifferences, judgeInternal, judgePlacement } from '../../src/restore/judge-topic.ts'
import { planRestore } from '../../src/restore/plan.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { plainOptions } from './plain-options.ts'
import { manifestOf, samplePartition, sampleTopic } from './samples.ts'

const first = (source: ManifestTopic, changes: Partial<RestoreOptions> = {}) => {
  const [topic] = planRestore(manifestOf([source]), plainOptions(changes)).topics
  assert.ok(topic)
  return topic
}
const settings = (own: Record<string, string>) => new Map(Object.entries(own))
const lines = (findings: ReturnType<typeof judgePlacement>) =>
  findings.map(finding => `${finding.severity} ${describeFinding(finding)}`)

describe('another number of partitions than at the source', () => {
  test('warns that producers place keys elsewhere', () => {
    const [warning = '', ...more] = lines(judgePlacement(first(sampleTopic('a', 2)), 5))
    assert.deepEqual(more, [])
    assert.match(warning, /^warning topic a: it has 5 partitions on the target and 2 at the source: .*producers.*key/)
    assert.match(warning, /restore\.repartition: by_key/)
    assert.deepEqual(lines(judgePlacement(first(sampleTopic('a', 2)), 2)), [])
  })

  test('is counted by what the source had, not by what the backup holds of it', () => {
    const partial = sampleTopic('a', 2, { partition_count: 5 })
    assert.deepEqual(lines(judgePlacement(first(partial), 5)), [])
    assert.equal(judgePlacement(first(partial), 2).length, 1)
  })

  test('is fine where keys decide', () => {
    const byKey = { repartition: 'by_key' as const, partitionCount: new Map([['a', 5]]) }
    assert.deepEqual(lines(judgePlacement(first(sampleTopic('a', 2), byKey), 5)), [])
  })

  test('reports a count that the job asks for and an existing topic does not have', () => {
    const topic = first(sampleTopic('a', 2), { partitionCount: new Map([['a', 12]]) })
    assert.match(lines(judgePlacement(topic, 2)).join(), /restore\.partition_count asks for 12 partitions.*has 2/)
  })
})

describe('an existing topic', () => {
  const none = { topicConfig: new Map<string, string>() }

  test('is reported where its settings keep less than the source did', () => {
    const effective_configs = { 'retention.ms': '604800000', 'retention.bytes': '-1', 'cleanup.policy': 'delete' }
    const topic = first(sampleTopic('a', 1, { effective_configs }))
    const [warning = ''] = lines(judgeDifferences(topic, settings({ 'retention.ms': '1000' }), none))
    assert.match(warning, /^warning topic a: .*retention\.ms was 604800000, here 1000/)
    const [finding] = judgeDifferences(topic, settings({ 'retention.ms': '1000' }), none)
    assert.match(finding?.remedy ?? '', /^change them before the restore/)
    assert.deepEqual(lines(judgeDifferences(topic, settings({ 'retention.ms': '-1' }), none)), [])
    assert.deepEqual(lines(judgeDifferences(topic, settings({ 'delete.retention.ms': '5' }), none)), [])
  })

  test('is reported where the source is compacted and keeps tombstones for another time', () => {
    const effective_configs = { 'cleanup.policy': 'compact', 'delete.retention.ms': '86400000' }
    const topic = first(sampleTopic('a', 1, { effective_configs }))
    const here = settings({ 'cleanup.policy': 'compact', 'delete.retention.ms': '5' })
    assert.match(lines(judgeDifferences(topic, here, none)).join(), /delete\.retention\.ms was 86400000, here 5/)
  })

  test('is reported where it deletes old records of a topic that only compaction removed records from, or the reverse', () => {
    const found = (was: string, here: string) => {
      const topic = first(sampleTopic('a', 1, { effective_configs: { 'cleanup.policy': was } }))
      return lines(judgeDifferences(topic, settings({ 'cleanup.policy': here }), none)).join()
    }
    assert.match(found('compact', 'compact,delete'), /cleanup\.policy was compact, here compact,delete/)
    assert.match(found('compact,delete', 'compact'), /cleanup\.policy was compact,delete, here compact/)
    assert.equal(found('compact,delete', 'delete, compact'), '')
    // Another finding reports these.
    assert.equal(found('compact', 'delete'), '')
    assert.equal(found('delete', 'compact'), '')
  })

  test('is reported where the source stamped its own times, which a restore cannot leave on', () => {
    const topic = first(sampleTopic('a', 1, { configs: { 'message.timestamp.type': 'LogAppendTime' } }))
    const here = settings({ 'message.timestamp.type': 'CreateTime' })
    assert.match(lines(judgeDifferences(topic, here, none)).join(), /message\.timestamp\.type was LogAppendTime/)
    assert.match(judgeDifferences(topic, here, none)[0]?.remedy ?? '', /^change them after the restore/)
  })

  test('is reported where the job asks for settings that it does not have', () => {
    const asked = { topicConfig: new Map([['retention.ms', '5']]) }
    const [warning = '', ...more] = lines(
      judgeDifferences(first(sampleTopic('a', 1)), settings({ 'retention.ms': '7' }), asked),
    )
    assert.deepEqual(more, [])
    assert.match(warning, /restore\.topic_config.*retention\.ms: 5, here 7/)
    assert.deepEqual(judgeDifferences(first(sampleTopic('a', 1)), settings({ 'retention.ms': '5' }), asked), [])
  })
})

describe('a topic of Kafka itself', () => {
  test('is refused as a target, with the way to restore committed offsets', () => {
    const offsets = sampleTopic('__consumer_offsets', 1, { internal: true })
    const named = { topics: { include: ['__consumer_offsets'], exclude: [] } }
    assert.match(
      lines(judgeInternal(first(offsets, named))).join(),
      /^error topic __consumer_offsets: .*restore\.topic_mapping/,
    )
    const mapped = { ...named, topicMapping: new Map([['__consumer_offsets', 'offsets-copy']]) }
    assert.deepEqual(judgeInternal(first(offsets, mapped)), [])
    const onto = { topicMapping: new Map([['a', '__transaction_state']]) }
    assert.equal(judgeInternal(first(sampleTopic('a', 1), onto)).length, 1)
  })
})

describe('a time window on a compacted topic', () => {
  const partitions = [samplePartition(0, { records: 5, first_timestamp: 100n, last_timestamp: 200n })]
  const compacted = sampleTopic('a', 0, { effective_configs: { 'cleanup.policy': 'compact' }, partitions })
  const warningsOf = (source: ManifestTopic, timeWindow: RestoreOptions['timeWindow']) =>
    planRestore(manifestOf([source]), plainOptions({ timeWindow })).warnings.filter(one => /time window/.test(one))

  test('warns that values which were replaced after its end may be missing', () => {
    assert.match(warningsOf(compacted, { end: 150n }).join(), /^topic a: .*compact.*after the end of the time window/)
  })

  test('does not warn where it leaves nothing out at the end, or the topic is not compacted', () => {
    assert.deepEqual(warningsOf(compacted, { end: 201n }), [])
    assert.deepEqual(warningsOf(compacted, { start: 150n }), [])
    assert.deepEqual(warningsOf(sampleTopic('a', 0, { partitions }), { end: 150n }), [])
  })
})
