import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { RegistrySnapshot, SchemaReference, SchemaType } from '../../src/archive/registry-model.ts'
import type { RegistrySubject } from '../../src/archive/registry-section.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { backupSchemasJob } from '../../src/jobs/schemas.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { encodeSegment } from '../../src/registry/client/address.ts'
import { listArtifacts } from '../../src/registry/client/apicurio.ts'
import { openRegistryClient, type RegistryClient } from '../../src/registry/client/client.ts'
import { readSnapshot } from '../../src/registry/client/read-snapshot.ts'
import type { Apicurio } from '../servers/apicurio.ts'
import { shareApicurio } from '../servers/shared-apicurio.ts'
import { withFolder } from './backup-job.ts'

const never = new AbortController().signal

const address = '{"type":"record","name":"Address","namespace":"a","fields":[{"name":"city","type":"string"}]}'
const order =
  '{"type":"record","name":"Order","namespace":"a","doc":"ü \\u0041","fields":[{"name":"n","type":"long",' +
  '"default":9223372036854775807},{"name":"to","type":"a.Address"}]}'
const user = '{"type":"object","properties":{"name":{"type":"string"}}}'
const userToo = '{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}}}'
const point = 'syntax = "proto3";\npackage geo;\n\n// A place.\nmessage Point {\n  int32 x = 1;\n}\n'
const path = 'syntax = "proto3";\npackage geo;\n\nimport "geo/point.proto";\n\nmessage Path {\n  Point from = 1;\n}\n'

describe('an Apicurio registry', () => {
  let apicurio: Apicurio
  let client: RegistryClient
  let snapshot: RegistrySnapshot

  before(async () => {
    apicurio = await shareApicurio()
    client = await openRegistryClient({ urls: [apicurio.url] })
    await register('common address', 'AVRO', address)
    await register('orders-value', 'AVRO', order, [{ name: 'a.Address', subject: 'common address', version: 1 }])
    await register('users-value', 'JSON', user)
    await register('users-value', 'JSON', userToo)
    await register('geo/point.proto', 'PROTOBUF', point)
    await register('paths-value', 'PROTOBUF', path, [
      { name: 'geo/point.proto', subject: 'geo/point.proto', version: 1 },
    ])
    const full = { compatibility: 'FULL' }
    await client.call({ method: 'PUT', path: '/config/orders-value', body: full }, never)
    await client.call({ method: 'DELETE', path: '/subjects/users-value/versions/1' }, never)
    await register('gone', 'AVRO', '"int"')
    await client.call({ method: 'DELETE', path: '/subjects/gone' }, never)
    snapshot = await readSnapshot(client, {}, never)
  })

  after(async () => {
    client.close()
    await apicurio.stop()
  })

  test('is recognized with its version', () => {
    assert.equal(snapshot.flavour, 'apicurio')
    assert.equal(snapshot.registryVersion, apicurio.version)
    assert.deepEqual(snapshot.contexts, ['.'])
  })

  test('returns every version with its text, type and references', () => {
    const seen = snapshot.versions.map(each => [
      each.subject,
      each.version,
      each.schemaType,
      each.schema,
      each.isDeleted,
    ])
    assert.deepEqual(seen, [
      ['common address', 1, 'AVRO', address, false],
      ['geo/point.proto', 1, 'PROTOBUF', point, false],
      ['gone', 1, 'AVRO', '"int"', true],
      ['orders-value', 1, 'AVRO', order, false],
      ['paths-value', 1, 'PROTOBUF', path, false],
      ['users-value', 1, 'JSON', user, true],
      ['users-value', 2, 'JSON', userToo, false],
    ])
    const references = snapshot.versions.flatMap(each => each.references.map(({ subject }) => [each.subject, subject]))
    assert.deepEqual(references, [
      ['orders-value', 'common address'],
      ['paths-value', 'geo/point.proto'],
    ])
  })

  test('shows which compatibility levels are set', () => {
    const levels = [...snapshot.subjects].map(([subject, { compatibility }]) => [subject, compatibility])
    assert.deepEqual(Object.fromEntries(levels), {
      'common address': null,
      'geo/point.proto': null,
      gone: null,
      'orders-value': 'FULL',
      'paths-value': null,
      'users-value': null,
    })
  })

  test('returns the selected subjects with their references', async () => {
    const some = await readSnapshot(client, { subjects: ['paths-*', 'users-*'], includeSoftDeleted: false }, never)
    const seen = some.versions.map(each => [each.subject, each.version, each.isPulledIn ?? false])
    assert.deepEqual(seen, [
      ['geo/point.proto', 1, true],
      ['paths-value', 1, false],
      ['users-value', 2, false],
    ])
    assert.equal(some.skippedDeleted, 1)
  })

  test('returns more subjects than one page lists, each under its own name', async () => {
    const names = ['100%', 'a+b', 'a?b#c', 'ünï/✓', ':.odd', 'x'.repeat(300), '../x', '..']
    const many = Array.from({ length: 15 }, (_, at) => `many-${at}`)
    await Promise.all([...names, ...many].map(name => register(name, 'AVRO', '"int"')))
    const all = await readSnapshot(client, {}, never)
    const subjects = new Set(all.versions.map(({ subject }) => subject))
    assert.deepEqual(
      [...names, ...many].filter(name => !subjects.has(name)),
      [],
    )
    assert.equal(subjects.size, names.length + many.length + 6)
    assert.deepEqual(all.warnings, [])
    for (const pageSize of [1, 4]) {
      assert.deepEqual((await listArtifacts(client, never, pageSize))?.sort(), [...subjects].sort(), `by ${pageSize}`)
    }
  })

  test('is backed up into files that have the current content under fixed names', () =>
    withFolder(async folder => {
      const subjects = ['Orders.Created', 'orders.created', 'kept']
      const versions = async (path: string) => JSON.parse(await readFile(join(folder, 'b1', path), 'utf8'))
      const fileOf = (path: string) => readFile(join(folder, 'b1/schema-registry', path), 'utf8')
      const document = {
        mode: 'backup',
        backup_id: 'b1',
        source: { bootstrap_servers: ['localhost:1'], topics: { include: ['*'] } },
        storage: { backend: 'filesystem', path: folder },
        enterprise: { schema_registry: { enabled: true, url: apicurio.url, backup: { subjects } } },
      }
      const job = parseJob(JSON.stringify(document), { source: 'test job', env: {}, mode: 'backup' })
      const warnings: string[] = []
      const onProgress = (event: ProgressEvent) => event.type === 'warning' && warnings.push(event.message)
      for (const subject of subjects) await register(subject, 'AVRO', '"int"')
      await backupSchemasJob(job, { onProgress }, never)
      assert.deepEqual((await readdir(join(folder, 'b1/schema-registry/subjects'))).sort(), [
        '%6frders.created',
        'Orders.Created',
        'kept',
      ])
      for (const query of ['', '?permanent=true']) {
        await client.call({ method: 'DELETE', path: `/subjects/Orders.Created${query}` }, never)
      }
      await register('Orders.Created', 'AVRO', '"string"')
      await client.call({ method: 'PUT', path: '/config/kept', body: { compatibility: 'FULL' } }, never)
      await client.call({ method: 'PUT', path: '/config', body: { compatibility: 'FORWARD' } }, never)
      await backupSchemasJob(job, { onProgress }, never)
      assert.equal(await fileOf('subjects/Orders.Created/v1.avsc'), '"string"')
      assert.equal(JSON.parse(await fileOf('subjects/kept/metadata.json')).compatibility, 'FULL')
      assert.equal(JSON.parse(await fileOf('config/global.json')).compatibility, 'FORWARD')
      assert.equal(JSON.parse(await fileOf('_schemas.json')).registry_version, apicurio.version)
      const { schema_registry: section } = await versions('manifest.json')
      assert.deepEqual(
        section.subjects.map((one: RegistrySubject) => [one.name, one.compatibility, one.compatibility_source]),
        [
          ['Orders.Created', 'FORWARD', 'global'],
          ['kept', 'FULL', 'subject'],
          ['orders.created', 'FORWARD', 'global'],
        ],
      )
      for (const [generation, text] of [
        ['00000001', '"int"'],
        ['00000002', '"string"'],
      ] as const) {
        const { subjects: listed } = (await versions(`manifests/${generation}.json`)).schema_registry
        assert.equal(await fileOf(listed[0].versions[0].schema_file), text)
      }
      assert.deepEqual(warnings, [])
    }))

  test('is reported if the URL lacks its base path', async () => {
    const wrong = await openRegistryClient({ urls: [apicurio.origin], attempts: 1 })
    await assert.rejects(readSnapshot(wrong, {}, never), (error: Error & { code?: string }) => {
      assert.match(error.code ?? '', /^REGISTRY_(NOT_FOUND|PROTOCOL)$/)
      return true
    })
    wrong.close()
  })

  async function register(
    subject: string,
    schemaType: SchemaType,
    schema: string,
    references: SchemaReference[] = [],
  ): Promise<void> {
    const call = { method: 'POST', path: `/subjects/${encodeSegment(subject)}/versions`, subject } as const
    await client.call({ ...call, body: { schema, schemaType, references } }, never)
  }
})
