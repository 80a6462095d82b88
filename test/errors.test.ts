import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorTable } from '../src/error-table.ts'
import { detailTable, type ErrorCode, KafkaBackupError } from '../src/errors.ts'

test('every code has an exit code, a decision on retries and a help text of whole sentences', () => {
  for (const [code, { exitCode, retryable, help }] of Object.entries(errorTable)) {
    assert.match(code, /^[A-Z][A-Z0-9_]+$/)
    assert.ok([1, 2, 3, 4, 5, 6, 130, 143].includes(exitCode), code)
    assert.equal(typeof retryable, 'boolean', code)
    assert.match(help, /[.?]$/, code)
    const error = new KafkaBackupError(code as ErrorCode, 'it failed')
    assert.deepEqual([error.exitCode, error.retryable, error.help], [exitCode, retryable, help])
  }
})

test('an error that wraps another keeps its details, states its own, and leaves the problem to the inner one', () => {
  const inner = new KafkaBackupError('ARCHIVE_DAMAGED', 'k is missing', {
    details: { key: 'k', problem: 'it is missing', topic: 'orders', partition: undefined },
  })
  const outer = new KafkaBackupError('BACKUP_PARTIAL', 'orders/1 failed', {
    cause: inner,
    details: { topic: 'payments', partition: 1 },
  })
  assert.deepEqual(inner.details, { key: 'k', problem: 'it is missing', topic: 'orders' })
  assert.deepEqual(outer.details, { key: 'k', topic: 'payments', partition: 1 })
})

test('the names of details are those of JSON', () => {
  for (const name of Object.keys(detailTable)) assert.match(name, /^[a-z]+(_[a-z]+)*$/)
})
