import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isHeldBack, openTimeLimits, planSettings, releaseSettings } from '../../src/restore/topic-settings.ts'

const none = new Map<string, string>()

describe('the settings of a topic', () => {
  const source = {
    'message.timestamp.type': 'LogAppendTime',
    'cleanup.policy': 'compact',
    'retention.ms': '1000',
    'compression.type': 'gzip',
    'max.message.bytes': '5000000',
    'leader.replication.throttled.replicas': '0:1',
  }

  test('that would damage the replay come at the end, the others at once', () => {
    const { whileFilling, afterwards } = planSettings(source, none, 'apply')
    assert.deepEqual(whileFilling, {
      'message.timestamp.type': 'CreateTime',
      'cleanup.policy': 'delete',
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'compression.type': 'producer',
      'max.message.bytes': '5000000',
    })
    assert.deepEqual(afterwards, {
      'message.timestamp.type': 'LogAppendTime',
      'cleanup.policy': 'compact',
      'retention.ms': '1000',
      'retention.bytes': null,
      'compression.type': 'gzip',
    })
  })

  test('of the job win over those of the source', () => {
    const { whileFilling, afterwards } = planSettings(
      source,
      new Map([
        ['retention.ms', '7'],
        ['max.message.bytes', '9'],
      ]),
      'fail',
    )
    assert.equal(whileFilling['max.message.bytes'], '9')
    assert.equal(afterwards['retention.ms'], '7')
  })

  test('keep retention off where it is to be held', () => {
    const { whileFilling, afterwards } = planSettings(source, none, 'hold')
    assert.equal(whileFilling['retention.ms'], '-1')
    assert.ok(!('retention.ms' in afterwards) && !('retention.bytes' in afterwards))
  })

  test('open the limits on times that the target has, and no others', () => {
    const wide = '9223372036854775807'
    assert.deepEqual(openTimeLimits(['log.message.timestamp.difference.max.ms', 'log.dirs']), {
      'message.timestamp.difference.max.ms': wide,
    })
    assert.deepEqual(openTimeLimits(['log.message.timestamp.after.max.ms', 'log.message.timestamp.before.max.ms']), {
      'message.timestamp.before.max.ms': wide,
      'message.timestamp.after.max.ms': wide,
    })
  })

  test('tell a topic that a restore is filling from one that was there', () => {
    const { whileFilling } = planSettings({}, none, 'fail')
    assert.ok(isHeldBack(whileFilling))
    assert.ok(!isHeldBack({ 'retention.ms': '-1', 'cleanup.policy': 'delete' }))
    assert.ok(!isHeldBack({}))
  })

  test('take off opened limits at the end, unless the source has its own', () => {
    const own = { 'message.timestamp.after.max.ms': '9223372036854775807' }
    assert.deepEqual(releaseSettings(own, {}), { 'message.timestamp.after.max.ms': null })
    assert.deepEqual(releaseSettings(own, { 'message.timestamp.after.max.ms': '5' }), {
      'message.timestamp.after.max.ms': '5',
    })
    assert.deepEqual(releaseSettings({ 'message.timestamp.after.max.ms': '5' }, {}), {})
  })
})
