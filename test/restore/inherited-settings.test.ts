import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { EffectiveConfigs } from '../../src/kafka/topic-configs.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { keepInherited, planInherited } from '../../src/restore/inherited-settings.ts'
import { planRestore } from '../../src/restore/plan.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { plainOptions } from './plain-options.ts'
import { manifestOf, sampleTopic } from './samples.ts'

function keep(
  effective_configs: Record<string, string>,
  target: Record<string, string> = {},
  changes: Partial<RestoreOptions> = {},
  configs: Record<string, string> = {},
) {
  const options = plainOptions(changes)
  const [topic] = planRestore(manifestOf([sampleTopic('a', 1, { configs, effective_configs })]), options).topics
  assert.ok(topic)
  const source = 'server_properties' as const
  const defaults: EffectiveConfigs = new Map(Object.entries(target).map(([name, value]) => [name, { value, source }]))
  const kept = keepInherited(topic, options, defaults)
  return { ...kept.topic, findings: kept.findings.map(({ problem, remedy }) => `${problem}: ${remedy}`) }
}

describe('a setting that the topic had from the brokers of the source', () => {
  test('is set on the topic where the target has another default, and reported', () => {
    const { afterwards, findings } = keep({ 'cleanup.policy': 'compact' }, { 'log.cleanup.policy': 'delete' })
    assert.equal(afterwards['cleanup.policy'], 'compact')
    assert.deepEqual(findings, [
      "the brokers' defaults differ from the source: cleanup.policy was compact, here delete: the restore sets cleanup.policy on the topic as at the source",
    ])
  })

  test('is unknown where the source did not report it, and the restore says so', () => {
    const options = plainOptions()
    const [topic] = planRestore(manifestOf([sampleTopic('a', 1)]), options).topics
    assert.ok(topic)
    const { findings } = keepInherited(topic, options, new Map())
    assert.deepEqual(
      findings.map(({ severity, problem }) => `${severity}: ${problem}`),
      ['warning: the backup does not know the retention and compaction that it had at the source'],
    )
  })

  test('is left to the target where it has the same default, in whatever order it lists it', () => {
    const same = keep({ 'cleanup.policy': 'delete,compact' }, { 'log.cleanup.policy': 'compact, delete' })
    assert.equal(same.afterwards['cleanup.policy'], null)
    assert.deepEqual(same.findings, [])
  })

  test('is set on the topic and reported where the target tells none of its defaults, also where it is that of Kafka', () => {
    for (const policy of ['compact', 'delete']) {
      const unknown = keep({ 'cleanup.policy': policy })
      assert.equal(unknown.afterwards['cleanup.policy'], policy)
      assert.match(
        unknown.findings.join(),
        new RegExp(`cannot be read, and may differ .*: cleanup\\.policy was ${policy}, here unknown`),
      )
    }
  })

  test('is compared with the default of Kafka where the target does not know that setting', () => {
    const other = { 'log.retention.ms': '5' }
    assert.deepEqual(keep({ 'cleanup.policy': 'delete' }, other).findings, [])
    assert.equal(keep({ 'cleanup.policy': 'compact' }, other).afterwards['cleanup.policy'], 'compact')
  })

  test('gives way to what is set on the topic and to what the job asks for', () => {
    const own = keep({ 'retention.ms': '5' }, { 'log.retention.ms': '1' }, {}, { 'retention.ms': '5' })
    assert.deepEqual([own.afterwards['retention.ms'], own.findings], ['5', []])
    const topicConfig = new Map([['cleanup.policy', 'delete']])
    assert.equal(keep({ 'cleanup.policy': 'compact' }, {}, { topicConfig }).afterwards['cleanup.policy'], 'delete')
  })

  test('is set where the target would expire records earlier, and only reported where it keeps them longer', () => {
    const shorter = keep({ 'retention.ms': '-1' }, { 'log.retention.hours': '1' })
    assert.equal(shorter.afterwards['retention.ms'], '-1')
    const longer = keep({ 'retention.ms': '3600000' }, { 'log.retention.ms': '-1' })
    assert.equal(longer.afterwards['retention.ms'], null)
    assert.match(
      longer.findings.join(),
      /retention.ms was 3600000, here -1: retention.ms: the topic follows the target/,
    )
  })

  test('stays held back where the job holds retention', () => {
    const held = keep({ 'retention.ms': '5000000' }, { 'log.retention.ms': '1' }, { retention: 'hold' })
    assert.equal('retention.ms' in held.afterwards, false)
    assert.deepEqual(held.findings, [])
  })

  test('is nothing where the backup does not know it', () => {
    assert.deepEqual(keep({}, { 'log.cleanup.policy': 'compact' }).findings, [])
  })
})

describe('a user who may not read the settings of a broker', () => {
  const CLUSTER_AUTHORIZATION_FAILED = 31
  const [TOPIC, STATIC_BROKER, DEFAULT] = [1, 4, 5]
  /** As a broker answers, with the synonyms of a setting where they are asked for. */
  const synonyms: [string, string | null, number][] = [
    ['retention.ms', '-1', TOPIC],
    ['log.retention.ms', null, STATIC_BROKER],
    ['log.retention.minutes', '60', STATIC_BROKER],
    ['log.retention.hours', '168', DEFAULT],
  ]

  function encodeAnswer(type: number, name: string, hasSynonyms: boolean): Writer {
    const writer = new Writer().int32(0)
    const isBroker = type === 4
    const encode = () => {
      writer
        .int16(isBroker ? CLUSTER_AUTHORIZATION_FAILED : 0)
        .string(null)
        .int8(type)
        .string(name)
      writer.array(isBroker ? [] : [0], () => {
        writer.string('retention.ms').string('-1').boolean(false).int8(TOPIC).boolean(false)
        writer.array(hasSynonyms ? synonyms : [], ([key, value, source]) => {
          writer.string(key).string(value).int8(source).noTags()
        })
        writer.int8(2).string(null).noTags()
      })
      writer.noTags()
    }
    return writer.array([0], encode).noTags()
  }

  test('finds the defaults of the target on a topic that exists, as a trial of a new one shows them', async () => {
    const fake = await startFakeCluster([fakeTopic('a', [[]])])
    fake.state.intercept = ({ key, body }) => {
      if (key !== API.describeConfigs) return undefined
      const [asked = { type: 0, name: '' }] = body.array(() => {
        const resource = { type: body.int8(), name: body.string() }
        body.array(() => body.string())
        body.tags()
        return resource
      })
      return encodeAnswer(asked.type, asked.name, body.boolean())
    }
    try {
      const options = plainOptions({})
      const effective_configs = { 'retention.ms': '3600000', 'cleanup.policy': 'delete' }
      const plan = planRestore(manifestOf([sampleTopic('a', 1, { effective_configs })]), options)
      const { signal } = new AbortController()
      const kept = await planInherited(await fake.open(), plan, options, new Set(), signal)
      assert.deepEqual(kept.plan.topics[0]?.afterwards['retention.ms'], null)
      assert.deepEqual(kept.findingsOf('a'), [])
    } finally {
      await fake.close()
    }
  })
})
