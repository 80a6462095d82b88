import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import type { KafkaBackupError } from '../../src/errors.ts'
import { runBackupJob } from '../../src/jobs/backup.ts'
import { checkJob } from '../../src/jobs/check.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import { VALUE_HEADER } from '../../src/registry/ids/schema-id.ts'
import type { BackupRestoreReport } from '../../src/restore/restore-backup.ts'
import { startRegistryProxy } from '../fakes/registry-proxy.ts'
import { openLocation } from '../open-location.ts'
import type { SeedRecord } from '../servers/driver.ts'
import { withFolder } from './backup-job.ts'
import { openRegistry, register, send, type WatchedRegistry, writesIn } from './schema-world.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const backupJob = { source: 'job', env: {}, mode: 'backup' } as const
const quiet = { onProgress: () => undefined }

describe('conflicts of schemas and IDs are reported before the first write', () => {
  const kafka = useKafka()

  const frame = (id: number, rest = 'x') => {
    const head = Buffer.alloc(5)
    head.writeInt32BE(id, 1)
    return Buffer.concat([head, Buffer.from(rest)])
  }

  async function seed(topic: string, records: SeedRecord[]): Promise<void> {
    await kafka.driver.createTopic(topic, { partitions: 1, configs: { 'retention.ms': '-1' } })
    await kafka.driver.produce(topic, records)
  }

  const jobOf = (mode: 'backup' | 'restore', path: string, topic: string, url: string, registry: object, more = {}) => {
    const servers = { bootstrap_servers: kafka.server.bootstrapServers }
    const place = mode === 'backup' ? { source: { ...servers, topics: { include: [topic] } } } : { target: servers }
    return JSON.stringify({
      mode,
      backup_id: 'b1',
      ...place,
      storage: { backend: 'filesystem', path },
      enterprise: { schema_registry: { enabled: true, url, ...registry } },
      ...more,
    })
  }

  function backup(path: string, topic: string, url: string, registry: object = {}) {
    const text = jobOf('backup', path, topic, url, registry)
    return runBackupJob(parseJob(text, { source: 'job', env: {}, mode: 'backup' }), quiet, never)
  }

  function restore(
    path: string,
    topic: string,
    url: string,
    restoring: object,
    more: object = {},
  ): Promise<BackupRestoreReport> {
    const mapping = { restore: { topic_mapping: { [topic]: `new-${topic}` }, ...more } }
    const text = jobOf('restore', path, topic, url, { restore: restoring }, mapping)
    return runRestoreJob(parseJob(text, { source: 'job', env: {}, mode: 'restore' }), quiet, never)
  }

  async function assertUntouched(topic: string, target: WatchedRegistry): Promise<void> {
    assert.deepEqual(writesIn(target.requests), [])
    await assert.rejects(kafka.driver.describeTopic(`new-${topic}`), /UnknownTopicOrPartition/)
  }

  /** A topic with one schema, backed up; the target is an empty registry. */
  async function withShop(
    topic: string,
    recordsOf: (id: number) => SeedRecord[],
    work: (shop: { path: string; source: WatchedRegistry; target: WatchedRegistry; id: number }) => Promise<void>,
  ): Promise<void> {
    await using source = await openRegistry({ firstId: 7 })
    await using target = await openRegistry({ firstId: 1001 })
    const id = await register(source.server.url, { subject: `${topic}-value`, type: 'AVRO', schema: '"string"' })
    await seed(topic, recordsOf(id))
    await withFolder(async path => {
      await backup(path, topic, source.server.url)
      await work({ path, source, target, id })
    })
  }

  const value = (bytes: Buffer): SeedRecord => ({ partition: 0, key: null, value: bytes })

  test('an ID that the target lacks, if no schemas are restored', async () => {
    await withShop(
      'looked-up',
      id => [value(frame(id))],
      async ({ path, target, id }) => {
        const { url } = target.server
        await assert.rejects(restore(path, 'looked-up', url, { enabled: false }), {
          code: 'RESTORE_REFUSED',
          message: new RegExp(`Schema ID ${id} not found in target registry`),
        })
        await assertUntouched('looked-up', target)
        await register(url, { subject: 'elsewhere', type: 'AVRO', schema: '"string"' })
        const report = await restore(path, 'looked-up', url, { enabled: false })
        assert.deepEqual(report.schemas?.ids, [{ context: '.', source: id, target: 1001 }])
        const [[record] = []] = await kafka.driver.consume('new-looked-up', { isolation: 'read_committed' })
        assert.deepEqual(record?.value, frame(1001))
      },
    )
  })

  test('records with an ID that no schema of the backup has, which can be passed, and are counted', async () => {
    const records = (id: number) => [...Array(20)].map(() => value(frame(id))).concat(value(frame(4711)))
    await withShop('unknown', records, async ({ path, target }) => {
      await assert.rejects(restore(path, 'unknown', target.server.url, {}), (error: Error & { code: string }) => {
        assert.equal(error.code, 'RESTORE_REFUSED')
        assert.match(error.message, /Schema ID 4711 not found in target registry.*unknown\/0.*offset 20/)
        assert.match(error.message, /unknown_ids: pass/)
        return true
      })
      await assertUntouched('unknown', target)
      const report = await restore(path, 'unknown', target.server.url, { unknown_ids: 'pass' })
      assert.equal(report.totals.schemaIds?.value.unknown, 1)
      assert.match(
        report.warnings.join('\n'),
        /unknown: 1 values carry schema IDs that the target registry does not have/,
      )
      const [found = []] = await kafka.driver.consume('new-unknown', { isolation: 'read_committed' })
      assert.deepEqual(found.at(-1)?.value, frame(4711))
      assert.deepEqual(found[0]?.value, frame(1001))
    })
  })

  test('numbers that look like a known schema ID, which the job has to classify', async () => {
    const long = (id: number, at: number) => frame(id, `\0${String.fromCharCode(at)}\0`)
    const records = (id: number) =>
      [...Array(50).keys()].map(at => ({ partition: 0, key: long(id, at), value: frame(id) }))
    await withShop('clocks', records, async ({ path, target }) => {
      const { url } = target.server
      await assert.rejects(restore(path, 'clocks', url, {}), (error: Error) => {
        assert.match(error.message, /topic clocks: it is not clear whether its keys carry schema IDs/)
        assert.match(error.message, /rewrite_topics\.include.*rewrite_parts/)
        return true
      })
      await assertUntouched('clocks', target)
      await restore(path, 'clocks', url, { rewrite_parts: ['value'] })
      const [found = []] = await kafka.driver.consume('new-clocks', { isolation: 'read_committed' })
      assert.deepEqual(found[3]?.key, long(7, 3))
      assert.deepEqual(found[3]?.value, frame(1001))
    })
  })

  test('a GUID in a header that no schema of the target has, or that its registry does not support', async () => {
    await using source = await openRegistry({ firstId: 7 })
    await using target = await openRegistry({ firstId: 1001 })
    await using older = await openRegistry({ firstId: 1001 })
    await register(source.server.url, { subject: 'guids-value', type: 'AVRO', schema: '"string"' })
    const stored = (await send(source.server.url, 'GET', '/subjects/guids-value/versions/1')) as { guid: string }
    const named = (guid: string, text: string): SeedRecord => ({
      ...value(Buffer.from(text)),
      headers: [[VALUE_HEADER, Buffer.from(`01${guid.replaceAll('-', '')}`, 'hex')]],
    })
    const stray = '0123456789abcdef0123456789abcdef'
    await seed('guids', [named(stored.guid, 'one'), named(stored.guid, 'two')])
    await seed('strays', [named(stored.guid, 'one'), named(stray, 'two')])
    // As registries of before Confluent 8 answer.
    const withoutGuids = await startRegistryProxy(older.server.url, () => ({
      kind: 'edit',
      edit: answer => answer.replaceAll(/"guid":"[^"]*",?/g, ''),
    }))
    try {
      await withFolder(async path => {
        await backup(path, 'guids', source.server.url)
        const { totals } = await restore(path, 'guids', target.server.url, { check_ids: 'all' })
        assert.equal(totals.schemaIds?.value.unknown ?? 0, 0)
        const [found = []] = await kafka.driver.consume('new-guids', { isolation: 'read_committed' })
        assert.deepEqual(
          found.map(({ headers }) => headers),
          [named(stored.guid, 'one').headers, named(stored.guid, 'two').headers],
        )
        const elsewhere = { topic_mapping: { guids: 'old-guids' } }
        const onto = (restoring: object) => restore(path, 'guids', withoutGuids.url, restoring, elsewhere)
        await assert.rejects(onto({}), {
          message: new RegExp(`GUID ${stored.guid.replaceAll('-', '-?')} not found`, 'i'),
        })
        await assert.rejects(kafka.driver.describeTopic('old-guids'), /UnknownTopicOrPartition/)
        const passed = await onto({ unknown_ids: 'pass', check_ids: 'all' })
        assert.equal(passed.totals.schemaIds?.value.unknown, 2)
      })
      await withFolder(async path => {
        await backup(path, 'strays', source.server.url)
        await assert.rejects(restore(path, 'strays', target.server.url, { check_ids: 'all' }), {
          message: /GUID 01234567-?89ab-?cdef-?0123-?456789abcdef not found/i,
        })
      })
    } finally {
      await withoutGuids.close()
    }
  })

  test('conflicts of schemas and topics together', async () => {
    await withShop(
      'both',
      id => [value(frame(id))],
      async ({ path, target }) => {
        const { url } = target.server
        await register(url, { subject: 'foreign', type: 'AVRO', schema: '"int"' })
        target.requests.length = 0
        await seed('new-both', [value(Buffer.from('old'))])
        await assert.rejects(restore(path, 'both', url, { force_ids: true }), (error: Error) => {
          assert.match(error.message, /force_ids needs an empty target registry.*foreign/)
          assert.match(error.message, /topic new-both: /)
          return true
        })
        assert.deepEqual(writesIn(target.requests), [])
      },
    )
  })

  test('force_ids with overwrite on a registry in use, which deletes nothing, and IDs that no schema has', async () => {
    const records = (id: number) => [...Array(20)].map(() => value(frame(id))).concat(value(frame(4711)))
    await withShop('kept', records, async ({ path, target, id }) => {
      const { url } = target.server
      await register(url, { subject: 'kept-value', type: 'AVRO', schema: '"long"' })
      target.requests.length = 0
      const forced = { force_ids: true, strategy: 'overwrite' }
      await assert.rejects(restore(path, 'kept', url, { ...forced, unknown_ids: 'pass' }), {
        code: 'RESTORE_REFUSED',
        message: /force_ids needs an empty target registry: it holds 1 version that no journal/,
      })
      await assertUntouched('kept', target)
      await using empty = await openRegistry({ firstId: 1001 })
      await assert.rejects(restore(path, 'kept', empty.server.url, forced), {
        code: 'RESTORE_REFUSED',
        message: /Schema ID 4711 not found in target registry: no schema of the backup has it/,
      })
      await assertUntouched('kept', empty)
      const report = await restore(path, 'kept', empty.server.url, { ...forced, unknown_ids: 'pass', check_ids: 'all' })
      assert.deepEqual(report.totals.idCheck, { mode: 'all', records: 21, unknown: 1 })
      assert.deepEqual(report.schemas?.ids, [{ context: '.', source: id, target: id }])
      empty.requests.length = 0
      await restore(path, 'kept', empty.server.url, { ...forced, unknown_ids: 'pass', check_ids: 'all' })
      assert.deepEqual(writesIn(empty.requests), [])
    })
  })

  test('records of RecordNameStrategy, which get their IDs although a sample shows none', async () => {
    await using source = await openRegistry({ firstId: 7 })
    await using target = await openRegistry({ firstId: 1001 })
    const fields = [{ name: 'page', type: 'string' }]
    const schema = JSON.stringify({ type: 'record', name: 'Click', namespace: 'shop', fields })
    const id = await register(source.server.url, { subject: 'shop.Click', type: 'AVRO', schema })
    const click = (one: number) => frame(one, '\x06abc')
    const plain = value(Buffer.from('{"plain":true}'))
    await kafka.driver.createTopic('mixed', { partitions: 1, configs: { 'retention.ms': '-1' } })
    // Each in a batch of its own, so that the sample of the first, the middle and the last misses the frame.
    const bytes = [plain, plain, value(click(id)), plain, plain, plain, plain, plain]
    for (const record of bytes) await kafka.driver.produce('mixed', [record])
    await withFolder(async path => {
      await backup(path, 'mixed', source.server.url)
      const report = await restore(path, 'mixed', target.server.url, {}, { verify: true })
      const [found = []] = await kafka.driver.consume('new-mixed', { isolation: 'read_committed' })
      assert.deepEqual(
        found.map(one => one.value),
        bytes.map((one, at) => (at === 2 ? click(1001) : one.value)),
      )
      assert.deepEqual([report.totals.schemaIds?.value.rewritten, report.verification?.ok], [1, true])
    })
  })

  test('a version that differs on the target, which stops preserve only if records need it', async () => {
    await withShop(
      'diverged',
      id => [...Array(8)].map(() => value(frame(id))),
      async ({ path, target, id }) => {
        const { url } = target.server
        await register(url, { subject: 'diverged-value', type: 'AVRO', schema: '"long"' })
        target.requests.length = 0
        await assert.rejects(restore(path, 'diverged', url, {}), {
          code: 'RESTORE_REFUSED',
          message: new RegExp(
            `Schema ID ${id} not found in target registry: version 1 of subject diverged-value is another`,
          ),
        })
        await assertUntouched('diverged', target)
        const report = await restore(path, 'diverged', url, { rewrite_topics: { exclude: ['diverged'] } })
        assert.deepEqual([report.schemas?.unmappedIds, report.totals.records], [[String(id)], 8])
        assert.deepEqual(writesIn(target.requests), [])
      },
    )
  })

  test('a manual ID mapping, which takes precedence, and is refused for an ID that does not exist', async () => {
    await withShop(
      'by-hand',
      id => [value(frame(id))],
      async ({ path, target, id }) => {
        const { url } = target.server
        const file = join(path, 'ids.json')
        await writeFile(file, JSON.stringify({ [id]: 5 }))
        await assert.rejects(restore(path, 'by-hand', url, { enabled: false, id_mapping_file: file }), {
          message: /Schema ID 5 not found in target registry/,
        })
        const other = await register(url, { subject: 'chosen', type: 'AVRO', schema: '"bytes"' })
        await writeFile(file, JSON.stringify({ [id]: other }))
        await restore(path, 'by-hand', url, { enabled: false, id_mapping_file: file })
        const [[record] = []] = await kafka.driver.consume('new-by-hand', { isolation: 'read_committed' })
        assert.deepEqual(record?.value, frame(other))
      },
    )
  })

  test('a backup without schemas, for a job that restores schemas', async () => {
    await using target = await openRegistry()
    await seed('bare', [value(frame(1))])
    await withFolder(async path => {
      const text = JSON.stringify({
        mode: 'backup',
        backup_id: 'b1',
        source: { bootstrap_servers: kafka.server.bootstrapServers, topics: { include: ['bare'] } },
        storage: { backend: 'filesystem', path },
      })
      await runBackupJob(parseJob(text, { source: 'job', env: {}, mode: 'backup' }), quiet, never)
      await assert.rejects(restore(path, 'bare', target.server.url, {}), {
        code: 'RESTORE_REFUSED',
        message: /generation 1 of the backup b1 holds no schemas/,
      })
      await assertUntouched('bare', target)
    })
  })

  test('the topic in which a registry of this Kafka stores its schemas, whatever its name', async () => {
    const configs = { 'retention.ms': '-1', 'cleanup.policy': 'compact' }
    const key = Buffer.from('{"keytype":"SCHEMA","subject":"own-orders-value","version":1,"magic":1}')
    await kafka.driver.createTopic('own-schemas', { partitions: 1, configs })
    await kafka.driver.produce('own-schemas', [{ partition: 0, key, value: Buffer.from('{}') }])
    const isStored = async () => (await kafka.driver.consume('own-schemas', { isolation: 'read_committed' })).flat()
    await withShop(
      'own-orders',
      id => [value(frame(id))],
      async ({ path, source, target }) => {
        const { url } = target.server
        const leftOut = /^topic own-schemas is left out: a schema registry stores its schemas there/
        const all = parseJob(jobOf('backup', join(path, 'all'), 'own-*', source.server.url, {}), backupJob)
        assert.match((await checkJob(all, never)).warnings.join(), leftOut)
        const { manifest } = await runBackupJob(all, quiet, never)
        assert.deepEqual(
          manifest.topics.map(({ name }) => name),
          ['own-orders'],
        )
        assert.match(manifest.warnings.join(), leftOut)

        // As versions that took it by a pattern have backed it up.
        const earlier = {
          source: {
            bootstrap_servers: kafka.server.bootstrapServers,
            topics: { include: ['own-orders', 'own-schemas'] },
          },
        }
        await runBackupJob(parseJob(jobOf('backup', path, '', source.server.url, {}, earlier), backupJob), quiet, never)
        const literal = { topics: { include: ['own-orders', 'own-schemas'] }, existing_topics: 'append' }
        target.requests.length = 0
        await assert.rejects(restore(path, 'own-orders', url, {}, literal), error => {
          const { code, message, help = '' } = error as KafkaBackupError
          assert.equal(code, 'RESTORE_REFUSED')
          assert.match(message, /topic own-schemas: a schema registry of the target stores its data there/)
          assert.doesNotMatch(`${message} ${help}`, /delete it|set restore.existing_topics/)
          return true
        })
        await assertUntouched('own-orders', target)
        const { warnings, topics } = await restore(path, 'own-orders', url, {})
        assert.match(warnings.join(), /topic own-schemas is not restored: a schema registry stored its schemas there/)
        assert.deepEqual(
          topics.map(one => one.source),
          ['own-orders'],
        )
        assert.equal((await isStored()).length, 1)
      },
    )
  })

  const broken: Record<string, [status: number, type: string, body: string, code: string]> = {
    'answers with a page': [200, 'text/html', '<html><title>Login</title></html>', 'REGISTRY_PROTOCOL'],
    forbids: [403, 'application/json', '{"error_code":40301,"message":"no"}', 'REGISTRY_AUTH'],
  }
  for (const [what, [status, type, body, code]] of Object.entries(broken)) {
    test(`a registry that ${what} leaves no partial backup`, async () => {
      const server = createServer((_, response) => response.writeHead(status, { 'content-type': type }).end(body))
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const address = server.address()
      const port = typeof address === 'object' ? address?.port : 0
      try {
        const topic = `half-${status}`
        await seed(topic, [value(frame(1))])
        await withFolder(async path => {
          await assert.rejects(backup(path, topic, `http://127.0.0.1:${port}`), { code })
          const keys: string[] = []
          for await (const { key } of openLocation(path).list('', never)) keys.push(key)
          assert.deepEqual(keys, [])
        })
      } finally {
        server.close()
      }
    })
  }
})
