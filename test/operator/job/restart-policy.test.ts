import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorTable } from '../../../src/error-table.ts'
import type { ErrorCode } from '../../../src/errors.ts'
import { readAttempts } from '../../../src/operator/job/attempt.ts'
import { buildJob } from '../../../src/operator/job/build-job.ts'
import { isStalling, restartPolicies } from '../../../src/operator/job/restart-policy.ts'
import { ended, sampleDraft, sampleJob, samplePod } from './samples.ts'

const codes = Object.keys(errorTable) as ErrorCode[]

test('every error code has a restart policy, and no other code has one', () => {
  assert.deepEqual(Object.keys(restartPolicies).toSorted(), codes.toSorted())
})

test('a continuous backup stops only for bad input, another writer, a truncated source, damage and wrong keys', () => {
  assert.deepEqual(
    codes.filter(code => restartPolicies[code] === 'stall').toSorted(),
    [
      ...['USAGE', 'CONFIG_UNREADABLE', 'CONFIG_INVALID', 'LOCATION_INVALID', 'KUBE_CONFIG'],
      ...['STORAGE_UNFIT', 'BACKUP_PRUNED', 'ARCHIVE_TOO_NEW', 'RESTORE_REFUSED'],
      ...['WRITER_CONFLICT', 'RESTORE_CONFLICT', 'SOURCE_TRUNCATED'],
      ...['ARCHIVE_DAMAGED', 'STORAGE_SHORT', 'BATCH_INVALID', 'REGISTRY_UNFAITHFUL'],
      ...['ENCRYPTION_KEY', 'ENCRYPTION_MISMATCH'],
    ].toSorted(),
  )
})

test('the exit codes that end the Job of a continuous backup are exactly those of stalling error codes', () => {
  const { podFailurePolicy } = buildJob(sampleDraft({ spec: { backup: { continuous: true } } })).spec as {
    podFailurePolicy: { rules: [{ onExitCodes: { values: number[] } }] }
  }
  const { values } = podFailurePolicy.rules[0].onExitCodes
  for (const code of codes) {
    const { exitCode, retryable } = errorTable[code]
    if (values.includes(exitCode)) assert.equal(restartPolicies[code], 'stall', code)
    if (retryable) assert.equal(restartPolicies[code], 'restart', code)
  }
})

test('an outage of the key service restarts a continuous backup, and a wrong key stops it', () => {
  const stalls = (retryable: boolean) => {
    const pod = samplePod({ status: ended(1, { code: 'ENCRYPTION_KEY', message: 'is encrypted', retryable }) })
    const [attempt] = readAttempts(sampleJob(), [pod])
    assert.ok(attempt?.ended)
    return isStalling(attempt.ended)
  }
  // No key is configured, and AWS KMS was asked as the keys file says.
  assert.equal(stalls(true), false)
  assert.equal(stalls(false), true)
})
