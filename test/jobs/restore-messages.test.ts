import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findingsOf } from '../../src/registry/restore/schema-report.ts'
import { RestoreRefusal } from '../../src/restore/refusal.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { framed } from '../registry/ids/sample-schemas.ts'
import { withSchemaTarget } from './schema-target.ts'

const orders = (ids: number[]) =>
  fakeTopic('orders', [
    ids.map((id, i) => encodeBatch({ baseOffset: BigInt(i), records: [{ value: framed(id, `v${i}`) }] })),
  ])
const schemas = snapshotOf([versionOf('orders-value', 1, 5), versionOf('orders-value', 2, 6)])
const firstOnly = snapshotOf([versionOf('orders-value', 1, 3, { schema: versionOf('orders-value', 1, 5).schema })])
const SCHEMAS_FIRST = /Restore the schemas first/
const STOPS = /Records with this ID stop the restore/

describe('the advice for a schema ID that the target lacks', () => {
  test('is to restore schemas first if the job restores none, and following it restores them before any record', () =>
    withSchemaTarget({ topics: [orders([5, 6])], schemas }, snapshotOf([]), async target => {
      await assert.rejects(target.run({ enabled: false }), { code: 'RESTORE_REFUSED', message: SCHEMAS_FIRST })
      assert.deepEqual([target.writes, target.kafka.topic('orders')], [[], undefined])
      const topicsAtWrites: boolean[] = []
      target.onWrite = () => void topicsAtWrites.push(target.kafka.topic('orders') !== undefined)
      const { isDone } = await target.run({ enabled: true })
      assert.equal(isDone, true)
      assert.ok(topicsAtWrites.length > 0)
      assert.equal(topicsAtWrites.includes(true), false)
    }))

  test('is never to restore schemas first if the job restores them, whatever its strategy', () =>
    withSchemaTarget({ topics: [orders([5, 6])], schemas }, firstOnly, async target => {
      await assert.rejects(target.run({ strategy: 'skip' }), error => {
        assert.ok(error instanceof Error)
        assert.match(error.message, /Schema ID 6 not found in target registry/)
        assert.doesNotMatch(error.message, SCHEMAS_FIRST)
        return true
      })
      for (const strategy of ['skip', 'preserve', 'overwrite']) {
        const { findings, warnings } = await target.dryRun({ strategy })
        assert.doesNotMatch([...findings.map(({ problem }) => problem), ...warnings].join(), SCHEMAS_FIRST)
      }
    }))

  test('says that records with the ID stop the restore only if they do', () =>
    withSchemaTarget({ topics: [orders([5, 6])], schemas }, firstOnly, async target => {
      const stopping = await target.dryRun({ strategy: 'skip' })
      assert.match(stopping.findings.map(({ problem }) => problem).join(), STOPS)
      const passing = { strategy: 'skip', unknown_ids: 'pass' }
      const { findings } = await target.dryRun(passing)
      assert.doesNotMatch(findings.map(({ problem }) => problem).join(), STOPS)
      const { isDone, warnings } = await target.run(passing)
      assert.equal(isDone, true)
      assert.match(warnings.join(), /Schema ID 6 not found in target registry/)
      assert.doesNotMatch(warnings.join(), STOPS)
    }))
})

describe('what a refused restore says it has written', () => {
  test('includes registry settings that were changed although no version was registered', () => {
    const levels = { subjects: { 'orders-value': { compatibility: 'FULL' } } }
    const backup = snapshotOf(schemas.versions, levels)
    return withSchemaTarget({ topics: [orders([5])], schemas: backup }, schemas, async target => {
      target.onWrite = () => {
        if (!target.kafka.topic('orders')) target.kafka.fake.state.topics.push(orders([7]))
      }
      await assert.rejects(target.run({ strategy: 'overwrite' }), {
        code: 'RESTORE_REFUSED',
        message: /topic orders: it already contains records/,
        help: /^The registry was changed before this was found; this run wrote no records\. To continue: /,
      })
      assert.ok(target.writes.length > 0)
    })
  })

  test('does not claim that nothing was written if the target refuses a topic after schemas were registered', () =>
    withSchemaTarget({ topics: [orders([5])], schemas }, snapshotOf([]), async target => {
      target.onWrite = () => void target.kafka.refused.add('retention.ms')
      await assert.rejects(target.run(), error => {
        assert.ok(error instanceof Error && 'help' in error && 'details' in error)
        assert.match(error.message, /topic orders/)
        assert.doesNotMatch(String(error.help), /Nothing was written/)
        assert.deepEqual(error.details, { topic: 'orders' })
        return true
      })
      assert.ok(target.writes.length > 0)
    }))
})

test('a refused restore has details that belong to its code, and findings about schemas name their subject', () => {
  const conflict = {
    severity: 'error',
    subject: 'topic orders',
    problem: 'p',
    remedy: '',
    details: { topic: 'orders' },
  } as const
  const damage = { severity: 'error', subject: 'object k', problem: 'q', remedy: '', code: 'ARCHIVE_DAMAGED' } as const
  const refusal = new RestoreRefusal([conflict, { ...damage, details: { key: 'k' } }])
  assert.deepEqual([refusal.code, refusal.details], ['ARCHIVE_DAMAGED', { key: 'k' }])
  const unled = { severity: 'error', subject: 'topic b', problem: 'r', remedy: '', code: 'KAFKA_NOT_READY' } as const
  const warning = { severity: 'warning', subject: 'topic c', problem: 's', remedy: '' } as const
  assert.deepEqual(
    [[unled, warning], [unled, conflict], [warning]].map(some => new RestoreRefusal(some).code),
    ['KAFKA_NOT_READY', 'RESTORE_REFUSED', 'RESTORE_REFUSED'],
  )
  const differs = { kind: 'version-differs', subject: 'a', version: 2, message: 'm' } as const
  const taken = { kind: 'not-empty', subject: null, version: null, message: 'n' } as const
  const findings = findingsOf({ conflicts: [differs, taken], notes: [] })
  assert.deepEqual(
    findings.map(({ details }) => details),
    [{ subject: 'a', version: 2 }, undefined],
  )
})
