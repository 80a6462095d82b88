import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeFormat } from '../../src/restore/judge-topic.ts'
import { isOldFormatSetting } from '../../src/restore/topic-settings.ts'

test('formats before 0.11 are old, whatever form their version has', () => {
  for (const value of ['0.8.2', '0.9.0', '0.10', '0.10.2', '0.10.2-IV0', '0.8']) {
    assert.equal(isOldFormatSetting('message.format.version', value), true, value)
  }
  for (const value of ['0.11.0', '0.11.0-IV2', '1.0', '2.8-IV1', '3.0-IV1', '']) {
    assert.equal(isOldFormatSetting('message.format.version', value), false, value)
  }
  assert.equal(isOldFormatSetting('segment.ms', '0.10'), false)
})

test('a topic of an old format is a blocker on a Kafka that still minds it', () => {
  const brokers = (version: string | null) =>
    new Map([['inter.broker.protocol.version', { value: version, source: 'default' as const }]])
  const [finding] = judgeFormat('t', '0.10.2', brokers('2.8-IV1'))
  assert.equal(finding?.severity, 'error')
  assert.match(
    `${finding?.problem} ${finding?.remedy}`,
    /message\.format\.version is 0\.10\.2: .*restore\.topic_config/,
  )
  for (const version of ['3.0-IV1', '3.9-IV0', null]) assert.deepEqual(judgeFormat('t', '0.10.2', brokers(version)), [])
  assert.deepEqual(judgeFormat('t', '2.8-IV1', brokers('2.8-IV1')), [])
  assert.deepEqual(judgeFormat('t', undefined, brokers('2.8-IV1')), [])
  assert.deepEqual(judgeFormat('t', '0.10.2', new Map()), [])
})
