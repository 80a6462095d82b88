import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Reader } from '../../src/kafka/wire/reader.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { fitSettings } from '../../src/restore/fit-settings.ts'
import { planRestore } from '../../src/restore/plan.ts'
import { API } from '../fakes/fake-broker.ts'
import { startFakeCluster } from '../fakes/fake-cluster.ts'
import { plainOptions } from './plain-options.ts'
import { manifestOf, sampleTopic } from './samples.ts'

const never = new AbortController().signal
const INVALID_CONFIG = 40
const TOPIC_AUTHORIZATION_FAILED = 29

type Judge = (configs: ReadonlyMap<string, string>) => number

/** Fits a topic of these settings to a target that judges topics like this. */
async function fit(configs: Record<string, string>, overrides: Record<string, string>, judge: Judge) {
  const fake = await startFakeCluster([])
  fake.state.intercept = ({ key, body }) =>
    key === API.createTopics ? encodeAnswer(readTopics(body), judge) : undefined
  try {
    const topicConfig = new Map(Object.entries(overrides))
    const plan = planRestore(manifestOf([sampleTopic('a', 1, { configs })]), plainOptions({ topicConfig }))
    const known = { overrides: topicConfig, defaults: new Map() }
    const { topics, findings } = await fitSettings(await fake.open(), plan.topics, known, never)
    const told = findings.map(({ severity, problem, code }) => ({ severity, problem, code }))
    return { topic: topics[0] ?? assert.fail(), told }
  } finally {
    await fake.close()
  }
}

function readTopics(body: Reader): [string, Map<string, string>][] {
  return body.array(() => {
    const name = body.string()
    body.int32()
    body.int16()
    body.array(() => assert.fail('nobody assigns brokers'))
    const configs = body.array(() => {
      const config: [string, string] = [body.string(), body.string()]
      body.tags()
      return config
    })
    body.tags()
    return [name, new Map(configs)] satisfies [string, Map<string, string>]
  })
}

function encodeAnswer(topics: [string, Map<string, string>][], judge: Judge): Writer {
  const writer = new Writer().int32(0)
  const encode = ([name, configs]: [string, Map<string, string>]) =>
    writer
      .string(name)
      .uuid('0'.repeat(32))
      .int16(judge(configs))
      .string('no')
      .int32(-1)
      .int16(-1)
      .array([], () => undefined)
      .noTags()
  return writer.array(topics, encode).noTags()
}

describe('a topic is fitted to the target', () => {
  test('without a setting of the source that the target does not know', async () => {
    const { topic, told } = await fit({ 'vendor.setting': '1', 'segment.ms': '7' }, {}, configs =>
      configs.has('vendor.setting') ? INVALID_CONFIG : 0,
    )
    const problem = 'the target does not take its setting vendor.setting: 1'
    assert.deepEqual(told, [{ severity: 'warning', problem, code: undefined }])
    assert.deepEqual([topic.whileFilling['vendor.setting'], topic.whileFilling['segment.ms']], [undefined, '7'])
  })

  test('with the default in the end for what the target refuses only then, and held back until then', async () => {
    const { topic, told } = await fit({ 'cleanup.policy': 'vendor' }, {}, configs =>
      configs.get('cleanup.policy') === 'vendor' ? INVALID_CONFIG : 0,
    )
    assert.deepEqual(
      told.map(({ severity, problem }) => [severity, problem]),
      [['warning', 'the target does not take its setting cleanup.policy: vendor']],
    )
    assert.deepEqual([topic.whileFilling['cleanup.policy'], topic.afterwards['cleanup.policy']], ['delete', null])
  })

  test('and is refused for a setting of the job, also for one that would be set in the end', async () => {
    const { told } = await fit({}, { 'cleanup.policy': 'shrink' }, configs =>
      configs.get('cleanup.policy') === 'shrink' ? INVALID_CONFIG : 0,
    )
    assert.deepEqual(
      told.map(({ severity }) => severity),
      ['error'],
    )
    assert.match(told[0]?.problem ?? '', /refuses to create it: .*cleanup\.policy/s)
  })

  test('and is refused where the user may not create it', async () => {
    const { told } = await fit({}, {}, () => TOPIC_AUTHORIZATION_FAILED)
    assert.deepEqual(told, [
      { severity: 'error', problem: 'the user of this job may not Create', code: 'KAFKA_DENIED' },
    ])
  })
})
