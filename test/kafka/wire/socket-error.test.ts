import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classifySocketError } from '../../../src/kafka/wire/connection-error.ts'

const table: [errno: string, code: string, message: RegExp][] = [
  ['ECONNREFUSED', 'KAFKA_UNREACHABLE', /k1:9092 refused the connection/],
  ['ENOTFOUND', 'KAFKA_UNREACHABLE', /host name of k1:9092/],
  ['EAI_AGAIN', 'KAFKA_UNREACHABLE', /host name of k1:9092/],
  ['EHOSTUNREACH', 'KAFKA_UNREACHABLE', /k1:9092 cannot be reached/],
  ['ENETUNREACH', 'KAFKA_UNREACHABLE', /k1:9092 cannot be reached/],
  ['ETIMEDOUT', 'KAFKA_UNREACHABLE', /k1:9092 cannot be reached/],
  ['ECONNRESET', 'KAFKA_DISCONNECTED', /connection to k1:9092 broke: ECONNRESET/],
  ['EPIPE', 'KAFKA_DISCONNECTED', /connection to k1:9092 broke: EPIPE/],
]

for (const [errno, code, message] of table) {
  test(`${errno} is ${code}, names the broker and keeps its cause`, () => {
    const cause = Object.assign(new Error(errno), { code: errno })
    const error = classifySocketError(cause, { host: 'k1', port: 9092 })
    assert.equal(error.code, code)
    assert.match(error.message, message)
    assert.equal(error.cause, cause)
    assert.equal(error.retryable, true)
  })
}
