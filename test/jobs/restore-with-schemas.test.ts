import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { holdRegistry } from '../../src/archive/registry-lease.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { leaseParts } from '../../src/jobs/leases.ts'
import { answerRequest } from '../../src/registry/serve/router.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { framed } from '../registry/ids/sample-schemas.ts'
import { type SchemaTarget, withSchemaTarget } from './schema-target.ts'

const never = new AbortController().signal
const range = (count: number) => Array.from({ length: count }, (_, i) => i)
const orders = (ids: number[]) =>
  fakeTopic('orders', [
    ids.map((id, i) => encodeBatch({ baseOffset: BigInt(i), records: [{ value: framed(id, `v${i}`) }] })),
  ])
const schemas = snapshotOf([versionOf('orders-value', 1, 5), versionOf('orders-value', 2, 6)])
const taken = snapshotOf(range(20).map(i => versionOf('others', i + 1, i + 100)))
const keyed = (key: string) => encodeBatch({ records: [{ key: Buffer.from(key) }] })
const noop = keyed('{"keytype":"NOOP","magic":0}')
const store = () => fakeTopic('_schemas', [[noop]], { configs: { 'cleanup.policy': 'compact' } })
const valuesOf = (target: SchemaTarget) =>
  (target.kafka.topic('orders')?.partitions[0]?.batches ?? []).flatMap(bytes =>
    walkBatches(bytes, 0, bytes.length).flatMap(header => decodeRecords(bytes, header).map(({ value }) => value)),
  )

describe('a restore of records and schemas', () => {
  test('gives records the IDs of the target, and compares as the same', () =>
    withSchemaTarget({ topics: [orders([5, 6, 5])], schemas }, taken, async target => {
      const { schemas: report } = await target.run()
      const [first, second] = report?.ids.map(one => one.target) ?? []
      assert.deepEqual([first, second], [120, 121])
      assert.deepEqual(valuesOf(target), [
        framed(first ?? 0, 'v0'),
        framed(second ?? 0, 'v1'),
        framed(first ?? 0, 'v2'),
      ])
      assert.equal((await target.compare()).ok, true)
      target.writes.length = 0
      assert.equal((await target.run()).wasComplete, true)
      assert.deepEqual(target.writes, [])
    }))

  test('estimates its time with the CPU that rewrites IDs and the requests to the registry, and only reads for that', () =>
    withSchemaTarget({ topics: [orders([5, 6, 5])], schemas }, taken, async target => {
      const probe = { scope: 'store' as const, onStep: () => undefined }
      const { estimate, totals } = await target.dryRun({}, {}, probe)
      assert.deepEqual(estimate?.problems, [])
      assert.deepEqual(
        estimate.steps.map(({ name, unit }) => [name, unit]),
        [
          ['registry', 'requests'],
          ['store_read', 'bytes'],
          ['id_rewriting', 'bytes'],
        ],
      )
      assert.deepEqual([estimate.records, estimate.notIncluded], [totals.records, ['target_write']])
      assert.deepEqual([target.writes, target.kafka.topic('orders')], [[], undefined])
      const { recovery } = await target.run()
      assert.deepEqual([recovery?.rewritesIds, (recovery?.registryRequests ?? 0) > 0], [true, true])
      const done = await target.dryRun({}, {}, probe)
      assert.deepEqual([done.estimate?.seconds, done.estimate?.steps], [0, []], 'the registry is complete, too')
    }))

  test('surveys the backup and the target once, and reads only the topics of the target again after registering', () =>
    withSchemaTarget({ topics: [orders([5, 6, 5])], schemas }, taken, async target => {
      await target.run()
      const first = target.countRequests()
      // Once before the run has its lease, and once to see that it is still the same afterwards.
      assert.equal(first.manifests, 2)
      // New topics are validated with the settings of both phases, and created.
      assert.equal(first.kafka.CreateTopics, 3)
      assert.ok((first.kafka.OffsetFetch ?? 0) <= 5, JSON.stringify(first))
      await target.run()
      const again = target.countRequests()
      assert.deepEqual(
        [again.kafka.OffsetFetch, again.kafka.CreateTopics, again.kafka.Produce],
        [1, undefined, undefined],
      )
      assert.equal(again.manifests, 2)
    }))

  test('tells what is lossy also where no schema had to be written', () => {
    const same = versionOf('orders-value', 1, 3, { schema: versionOf('orders-value', 1, 5).schema })
    return withSchemaTarget({ topics: [orders([5, 5])], schemas }, snapshotOf([same]), async target => {
      const { warnings, schemas: report } = await target.run({ strategy: 'skip' })
      assert.equal(report?.wasComplete, true)
      assert.match(warnings.join(), /Schema ID 6 not found in target registry/)
    })
  })

  test('that is run again when it is complete removes no schema that came since', () =>
    withSchemaTarget({ topics: [orders([5, 6, 5])], schemas }, taken, async target => {
      await target.run({ strategy: 'overwrite' })
      answerRequest(target.registry, {
        ...{ method: 'POST', target: '/subjects/orders-value/versions?force=true' },
        body: JSON.stringify({ schema: '"string"' }),
      })
      target.writes.length = 0
      const { wasComplete, warnings } = await target.run({ strategy: 'overwrite' })
      assert.deepEqual([wasComplete, target.writes], [true, []])
      assert.match(warnings.join(), /the registry has changed since: it is left as it is/)
      assert.equal((await target.compare({ strategy: 'overwrite' })).ok, true)
    }))

  test('that is run again when it is complete brings back schemas that were lost', () =>
    withSchemaTarget({ topics: [orders([5, 6, 5])], schemas }, snapshotOf([]), async target => {
      await target.run({ force_ids: true })
      for (const path of ['/subjects/orders-value', '/subjects/orders-value?permanent=true']) {
        answerRequest(target.registry, { method: 'DELETE', target: path, body: '' })
      }
      const { wasComplete, schemas: report } = await target.run({ force_ids: true })
      assert.deepEqual([wasComplete, report?.versions.register], [true, 2])
      assert.deepEqual(
        report?.ids.map(one => one.target),
        [5, 6],
      )
    }))

  test('refuses the topic of a registry next to the schemas of it, and writes neither', () =>
    withSchemaTarget({ topics: [orders([5]), store()], schemas }, taken, async target => {
      const both = { topics: { include: ['orders', '_schemas'] } }
      await assert.rejects(target.run({}, both), {
        code: 'RESTORE_REFUSED',
        message: /topic _schemas: .*this job registers the same schemas through a registry/,
        help: /^Nothing was written\. To continue: leave _schemas out of restore\.topics\.include/,
      })
      assert.match((await target.dryRun({}, both)).findings.map(({ problem }) => problem).join(), /registers the same/)
      assert.deepEqual(target.writes, [])
      await target.run({}, { topics: both.topics, topic_mapping: { _schemas: 'old_schemas' } })
      assert.deepEqual(target.kafka.log('old_schemas'), [[0, 1]])
    }))

  test('leaves the topic of the registry out of a restore of everything, whatever the registry writes there meanwhile', () =>
    withSchemaTarget({ topics: [orders([5]), store()], schemas }, taken, async target => {
      const own = fakeTopic('_schemas', [[noop]])
      target.kafka.fake.state.topics.push(own)
      const { warnings, isDone } = await target.run()
      assert.ok(isDone)
      assert.match(warnings.join(), /topic _schemas is not restored: a schema registry stored its schemas there/)
      assert.equal(own.partitions[0]?.batches.length, 1)
    }))

  test('says that schemas were registered where the records are refused after that', () =>
    withSchemaTarget({ topics: [orders([5])], schemas }, taken, async target => {
      target.onWrite = () => {
        if (!target.kafka.topic('orders')) target.kafka.fake.state.topics.push(orders([7]))
      }
      await assert.rejects(target.run(), {
        code: 'RESTORE_REFUSED',
        message: /topic orders: it already contains records/,
        help: /^2 schema versions were registered before this was found; this run wrote no records\. To continue: /,
      })
    }))

  test('does not continue with other IDs where the registry has changed while its settings were written', () => {
    const level = { subjects: { 'orders-value': { compatibility: 'FULL' } } }
    const backup = { topics: [orders([5]), fakeTopic('audit', [[]])], schemas: snapshotOf(schemas.versions, level) }
    const send = ({ registry }: SchemaTarget, method: string, path: string, body: object = {}) =>
      answerRequest(registry, { method, target: path, body: JSON.stringify(body) })
    return withSchemaTarget(backup, taken, async target => {
      await target.run({ strategy: 'overwrite' })
      const begun = valuesOf(target)
      // One of two topics is gone, so that the restore has to continue; and a setting, so that the registry is written.
      const { state } = target.kafka.fake
      state.topics = state.topics.filter(({ name }) => name !== 'audit')
      send(target, 'DELETE', '/config/orders-value')
      let isChanged = false
      target.onWrite = () => {
        if (isChanged) return
        isChanged = true
        for (const path of ['/subjects/orders-value', '/subjects/orders-value?permanent=true'])
          send(target, 'DELETE', path)
        send(target, 'POST', '/subjects/elsewhere/versions', { schema: '"string"' })
        for (const { schema } of schemas.versions) {
          send(target, 'POST', '/subjects/orders-value/versions?force=true', { schema })
        }
      }
      await assert.rejects(target.run({ strategy: 'overwrite' }), {
        code: 'RESTORE_REFUSED',
        message: /has begun with other .* schema IDs/,
      })
      assert.ok(isChanged)
      assert.deepEqual([valuesOf(target), target.kafka.topic('audit')], [begun, undefined])
    })
  })

  test('treats the IDs of subjects that the filter leaves out as unknown, before the first write', () => {
    const both = snapshotOf([versionOf('orders-value', 1, 5), versionOf('audit', 1, 6)])
    return withSchemaTarget({ topics: [orders([5, 6])], schemas: both }, taken, async target => {
      const filter = { exclude: ['audit'] }
      const unknown = /Schema ID 6 not found in target registry: version 1 of subject audit is not restored/
      await assert.rejects(target.run(filter), { code: 'RESTORE_REFUSED', message: unknown })
      assert.deepEqual(target.writes, [])
      const { schemas: report } = await target.run({ ...filter, unknown_ids: 'pass' })
      assert.deepEqual([report?.versions.register, report?.subjects], [1, 1])
      assert.match(
        report?.notes.map(({ message }) => message).join() ?? '',
        /subject audit is left out by enterprise\.schema_registry\.restore/,
      )
      assert.deepEqual(valuesOf(target), [framed(report?.ids[0]?.target ?? 0, 'v0'), framed(6, 'v1')])
      assert.equal((await target.compare({ ...filter, unknown_ids: 'pass' })).ok, true)
    })
  })

  test('waits for another restore into the same registry, of whichever backup, before it reads or writes there', () =>
    withSchemaTarget({ topics: [orders([5])], schemas }, taken, async target => {
      const claim = { urls: [target.url], kind: 'restore of backup other' }
      const hold = await holdRegistry(leaseParts(target.storage, { onProgress: () => undefined }), claim, never)
      const waiting = Promise.withResolvers<string>()
      target.onProgress = event => {
        if (event.type === 'warning') waiting.resolve(event.message)
      }
      const second = target.run()
      assert.match(
        await waiting.promise,
        /is being written by another run \(restore of backup other on .*; waiting up to/,
      )
      assert.deepEqual(target.writes, [])
      assert.equal((await target.dryRun()).schemas?.counts.register, 2)
      await hold.release()
      assert.equal((await second).schemas?.versions.register, 2)
      const keys: string[] = []
      for await (const { key } of target.storage.list('', never)) keys.push(key)
      assert.deepEqual(
        keys.filter(key => key.startsWith('.')),
        [],
      )
    }))
})
