import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatResult } from '../../../src/cli/result/format-result.ts'
import { cutText, parsePodResult } from '../../../src/operator/job/pod-result.ts'

const written = {
  ok: false,
  command: 'backup',
  exit: 1,
  code: 'KAFKA_DENIED',
  message: 'topic `orders`: not allowed',
  help: 'Ask for it.',
  details: { topic: 'orders' },
  retryable: false,
  totals: { records: 5, bytes: 7, backup: { stored_bytes: 9, may_hold_deleted_keys: 2 } },
  backup_id: 'orders',
  generation: 7,
  warnings: 0,
  gaps: 2,
  report: 'orders/reports/x.json',
  started_at: '2026-01-31T08:00:00.000Z',
  finished_at: '2026-01-31T08:00:04.211Z',
}

test('reads the result of a command, also if its strings were cut', () => {
  const result = parsePodResult(formatResult(written))
  assert.deepEqual(result, {
    exit: 1,
    command: 'backup',
    code: 'KAFKA_DENIED',
    message: 'topic `orders`: not allowed',
    help: 'Ask for it.',
    isRetryable: false,
    isDryRun: false,
    gaps: 2,
    records: 5,
    bytes: 7,
    storedBytes: 9,
    mayHoldDeletedKeys: 2,
    estimate: undefined,
    groups: undefined,
    recoverySeconds: undefined,
    snapshotId: undefined,
    report: 'orders/reports/x.json',
  })
  const long = parsePodResult(formatResult({ ...written, message: 'ü"\n'.repeat(9000) }))
  assert.equal(long?.code, 'KAFKA_DENIED')
  assert.equal([...(long?.message ?? '')].length, 800)
})

test('reads the estimated time of a restore, and the time that it took', () => {
  const read = (estimate: unknown) => {
    return parsePodResult(JSON.stringify({ ok: true, exit: 0, command: 'restore', totals: { estimate } }))?.estimate
  }
  const known = { seconds: 240.5, precision: 'at_least' }
  assert.deepEqual(read({ ...known, limited_by: null }), known)
  assert.deepEqual(read({ ...known, limited_by: 'target_write', actual_seconds: 252 }), {
    ...{ seconds: 240.5, precision: 'at_least', limitedBy: 'target_write', actualSeconds: 252 },
  })
  for (const other of [undefined, null, [], 7, {}, { ...known, seconds: '1' }, { ...known, precision: 'never' }]) {
    assert.equal(read(other), undefined)
  }
})

test('reads the recovery time of a drill, and of no other command', () => {
  const read = (command: string, recovery_seconds: unknown) =>
    parsePodResult(JSON.stringify({ ok: true, exit: 0, command, totals: { recovery_seconds } }))?.recoverySeconds
  assert.deepEqual(
    [read('drill run', 12.5), read('restore', 12.5), read('drill run', '1')],
    [12.5, undefined, undefined],
  )
})

test('rejects an empty, cut or foreign message as a result', () => {
  const whole = JSON.stringify(written)
  const others = [undefined, '', ' ', 'Killed', whole.slice(0, -20), `${whole}\n${whole}`, 'null', '[]', '"x"', '1']
  const logs = ['{"level":"error","message":"x"}', '{"exit":"1","ok":false}', '{"exit":1}', '{"exit":-1,"ok":true}']
  const huge = JSON.stringify({ ...written, message: 'x'.repeat(5000) })
  for (const text of [...others, ...logs, huge]) assert.equal(parsePodResult(text), undefined, text)
})

test('bounds the result of a hostile pod, and accepts only strings and numbers', () => {
  const result = parsePodResult(
    JSON.stringify({
      ...{
        ok: false,
        exit: 1,
        command: ['x'],
        code: '<script>',
        message: { a: 1 },
        help: '\u001b[31mred\u202e\n\u0000',
      },
      totals: {
        ...{ records: 1e300, bytes: -5, backup: { stored_bytes: '7' }, snapshot_id: 'a b', groups_set: 1.5 },
        estimate: { seconds: -1, precision: 'about' },
      },
      ...{ gaps: Number.MAX_SAFE_INTEGER + 1, report: '\n', retryable: 'no', __proto__: { a: 1 } },
    }),
  )
  assert.deepEqual(result, {
    ...{ exit: 1, command: '', code: undefined, message: '', help: '[31mred', isRetryable: false, gaps: 0 },
    ...{ isDryRun: false },
    ...{
      records: undefined,
      bytes: undefined,
      storedBytes: undefined,
      groups: undefined,
      mayHoldDeletedKeys: undefined,
      estimate: undefined,
    },
    ...{ recoverySeconds: undefined, snapshotId: undefined, report: undefined },
  })
})

test('cuts a string between characters', () => {
  assert.equal(cutText('😀'.repeat(5), 3), '😀😀…')
  assert.equal(cutText('a\ud800b', 9), 'a\ufffdb')
  assert.equal(cutText(' a \r\n\t b ', 9), 'a b')
})

test('counts groups whose committed offsets were set, saved in a snapshot or compared with one', () => {
  const of = (command: string, totals: object) =>
    parsePodResult(JSON.stringify({ ok: true, exit: 0, command, totals }))?.groups
  assert.equal(of('restore', { groups: 3 }), 3)
  assert.equal(of('restore', { groups: 3, groups_failed: 2 }), 1)
  assert.equal(of('offsets reset', { groups: 3, groups_set: 2 }), 2)
  assert.equal(of('offsets rollback', { groups: 3, groups_set: 1 }), 1)
  assert.equal(of('offsets snapshot', { groups: 3, groups_failed: 1 }), 2)
  assert.equal(of('offsets verify', { groups: 3, groups_different: 1 }), 3)
  assert.equal(of('backup', { groups: 3 }), undefined)
})

test('recognizes a dry run', () => {
  const of = (command: string, totals: object) =>
    parsePodResult(JSON.stringify({ ok: true, exit: 0, command, totals }))?.isDryRun
  assert.deepEqual([of('restore', { dry_run: true }), of('restore', {}), of('offsets plan', {})], [true, false, true])
})
