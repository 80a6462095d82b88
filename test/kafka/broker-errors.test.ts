import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokerError } from '../../src/kafka/broker-errors.ts'

const table: [errorCode: number, name: string, code: string, retryable: boolean][] = [
  [-1, 'UNKNOWN_SERVER_ERROR', 'KAFKA_NOT_READY', true],
  [1, 'OFFSET_OUT_OF_RANGE', 'OFFSET_OUT_OF_RANGE', false],
  [2, 'CORRUPT_MESSAGE', 'SOURCE_CORRUPT', true],
  [3, 'UNKNOWN_TOPIC_OR_PARTITION', 'TOPIC_NOT_FOUND', false],
  [6, 'NOT_LEADER_OR_FOLLOWER', 'KAFKA_NOT_READY', true],
  [10, 'MESSAGE_TOO_LARGE', 'KAFKA_REFUSED', false],
  [16, 'NOT_COORDINATOR', 'KAFKA_NOT_READY', true],
  [25, 'UNKNOWN_MEMBER_ID', 'GROUP_ACTIVE', false],
  [29, 'TOPIC_AUTHORIZATION_FAILED', 'KAFKA_DENIED', false],
  [35, 'UNSUPPORTED_VERSION', 'KAFKA_UNSUPPORTED', false],
  [74, 'FENCED_LEADER_EPOCH', 'KAFKA_NOT_READY', true],
  [100, 'UNKNOWN_TOPIC_ID', 'SOURCE_REPLACED', true],
  [103, 'INCONSISTENT_TOPIC_ID', 'SOURCE_REPLACED', true],
]

for (const [errorCode, name, code, retryable] of table) {
  test(`${name} (${errorCode}) is ${code}, ${retryable ? 'worth another try' : 'final'}`, () => {
    const error = brokerError(errorCode, 'reading a/1')
    assert.deepEqual([error.code, error.retryable], [code, retryable])
    assert.equal(error.message, `reading a/1: the broker answered ${name} (${errorCode})`)
  })
}

test('what the broker put into words is part of the message', () => {
  const error = brokerError(40, 'creating topic a', 'Unknown topic config name: x')
  assert.equal(error.message, 'creating topic a: the broker answered INVALID_CONFIG (40): Unknown topic config name: x')
})

test('what the broker was asked about is in the details', () => {
  const error = brokerError(29, 'reading a/1', null, { topic: 'a', partition: 1 })
  assert.deepEqual([error.code, error.details], ['KAFKA_DENIED', { topic: 'a', partition: 1 }])
})

test('an error that nobody knows is refused by its number, and final', () => {
  const error = brokerError(12345, 'asking')
  assert.deepEqual(
    [error.code, error.retryable, error.message],
    ['KAFKA_REFUSED', false, 'asking: the broker answered error (12345)'],
  )
})
