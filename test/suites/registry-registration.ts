import assert from 'node:assert/strict'
import { test } from 'node:test'
import { avroRecord, type Json } from './registry-client.ts'
import type { ClientOf } from './registry-suite.ts'

interface Version {
  subject: string
  version: number
  id: number
  schema: string
  schemaType?: string
}

export function describeRegistration(registry: ClientOf): void {
  test('versions count from 1, and the same schema is the same id in any subject', async () => {
    const [one, two] = [
      avroRecord('RegOne'),
      avroRecord('RegOne', { a: ['null', 'int'] }).replace('"a"', '"a","default":null'),
    ]
    const first = await registry().register('reg-a', one)
    const second = await registry().register('reg-a', two)
    assert.notEqual(first, second)
    assert.equal(await registry().register('reg-a', one), first)
    assert.equal(await registry().register('reg-b', one), first)
    assert.deepEqual(await registry().get('/subjects/reg-a/versions'), [1, 2])
    assert.equal((await registry().get<Version>('/subjects/reg-a/versions/latest')).version, 2)
    assert.equal((await registry().get<Version>('/subjects/reg-a/versions/1')).id, first)
  })

  test('a schema is read by its id, verbatim', async () => {
    const schema = avroRecord('RegById', { text: 'string' })
    const id = await registry().register('reg-by-id', schema)
    assert.deepEqual(JSON.parse((await registry().get<Version>(`/schemas/ids/${id}`)).schema), JSON.parse(schema))
    await registry().refused(40403, 'GET', '/schemas/ids/2147483000')
  })

  test('a look-up answers with subject, version and id, and refuses what is not there', async () => {
    const schema = avroRecord('RegLookUp')
    const id = await registry().register('reg-look-up', schema)
    const found = await registry().ok<Version>('POST', '/subjects/reg-look-up', { schema })
    assert.deepEqual([found.subject, found.version, found.id], ['reg-look-up', 1, id])
    await registry().refused(40403, 'POST', '/subjects/reg-look-up', { schema: avroRecord('RegOther') })
    await registry().refused(40401, 'POST', '/subjects/reg-nobody', { schema })
  })

  test('a subject, a version and a number that is none are refused with their codes', async () => {
    await registry().register('reg-codes', avroRecord('RegCodes'))
    await registry().refused(40401, 'GET', '/subjects/reg-nobody/versions')
    await registry().refused(40401, 'GET', '/subjects/reg-nobody/versions/1')
    await registry().refused(40402, 'GET', '/subjects/reg-codes/versions/2')
    for (const number of ['0', 'first']) {
      const { text } = await registry().send('GET', `/subjects/reg-codes/versions/${number}`)
      // Some say that there is no such version, some that there is none such at all.
      assert.ok([40402, 42202].includes((JSON.parse(text) as { error_code: number }).error_code), text)
    }
  })

  test('what is no schema is refused', async () => {
    await registry().refused(42201, 'POST', '/subjects/reg-bad/versions', { schema: '{"type":"recrod"}' })
    await registry().refused(40401, 'GET', '/subjects/reg-bad/versions')
  })

  test('the same schema under fifty subjects is one id with fifty versions (case 5)', async () => {
    const schema = avroRecord('RegFifty')
    const subjects = Array.from({ length: 50 }, (_, at) => `reg-fifty-${String(at).padStart(2, '0')}`)
    const ids = new Set<number>()
    for (const subject of subjects) ids.add(await registry().register(subject, schema))
    const [id] = ids
    assert.equal(ids.size, 1)
    const listed = await registry().get<Version[]>(`/schemas/ids/${id}/versions`)
    assert.deepEqual(
      listed.map(({ subject, version }) => `${subject} ${version}`).sort(),
      subjects.map(subject => `${subject} 1`),
    )
  })

  const names = ['a b', '50%', 'a+b', 'what?', 'a#b', 'größe-日本', 'x'.repeat(255), 'google/protobuf/x.proto', '../x']
  for (const name of names) {
    test(`a subject may be called ${name.slice(0, 30)} (cases 14 and 15)`, async () => {
      const schema = avroRecord('RegName')
      const path = `/subjects/${encodeURIComponent(name)}`
      await registry().ok('POST', `${path}/versions`, { schema })
      assert.deepEqual(await registry().get(`${path}/versions`), [1])
      assert.equal((await registry().get<Version>(`${path}/versions/1`)).subject, name)
      assert.ok((await registry().get<string[]>('/subjects')).includes(name))
    })
  }

  const texts: [string, { schema: string; schemaType: string }][] = [
    [
      'a JSON Schema with a remote $ref and $id',
      {
        schemaType: 'JSON',
        schema:
          '{"$id":"https://x.example/a","type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}',
      },
    ],
    [
      'a Protobuf schema with an import and options',
      {
        schemaType: 'PROTOBUF',
        schema:
          'syntax = "proto2";\npackage reg;\n\nimport "google/protobuf/timestamp.proto";\n\nmessage A {\n  optional string name = 1 [deprecated = true];\n  optional .google.protobuf.Timestamp at = 2;\n}\n',
      },
    ],
  ]
  for (const [what, body] of texts) {
    test(`${what} is kept (case 16)`, async () => {
      const subject = `reg-text-${body.schemaType}`
      const id = await registry().register(subject, body)
      const found = await registry().get<Version>(`/subjects/${subject}/versions/1`)
      assert.deepEqual([found.id, found.schemaType], [id, body.schemaType])
      assert.equal(found.schema.replace(/\s+/g, ''), body.schema.replace(/\s+/g, ''))
    })
  }

  test('escapes, emoji and whole numbers beyond a double survive (case 17)', async () => {
    const schema =
      '{"type":"record","name":"RegExact","doc":"\\u0000 \\u00e9 \u{1f600}","fields":[{"name":"big","type":"long","default":9223372036854775807}]}'
    await registry().register('reg-exact', schema)
    const found = await registry().get<Version>('/subjects/reg-exact/versions/1')
    assert.match(found.schema, /9223372036854775807/)
    assert.deepEqual(JSON.parse(found.schema), JSON.parse(schema))
  })

  test('a schema of a megabyte is kept whole (case 17)', async () => {
    const doc = 'd'.repeat(2 ** 20)
    const schema = JSON.stringify({ type: 'record', name: 'RegLarge', doc, fields: [] })
    await registry().register('reg-large', schema)
    const found = await registry().get<Version>('/subjects/reg-large/versions/1')
    assert.equal((JSON.parse(found.schema) as { doc: string }).doc, doc)
  })
}

/** Metadata and rules. */
export function describeContracts(registry: ClientOf): void {
  const metadata = { tags: { '**.ssn': ['PII'] }, properties: { owner: 'team' }, sensitive: ['owner'] }
  const ruleSet = { domainRules: [{ name: 'r', kind: 'CONDITION', mode: 'WRITE', type: 'CEL', expr: 'true' }] }

  test('metadata and rules are kept and are part of what a schema is (case 31)', async () => {
    const schema = avroRecord('ConKept')
    const plain = await registry().register('con-plain', schema)
    const other = await registry().register('con-kept', { schema, metadata, ruleSet })
    assert.notEqual(plain, other)
    const found = await registry().get<{ metadata: Json; ruleSet: Json; guid: string }>('/subjects/con-kept/versions/1')
    assert.deepEqual([found.metadata, found.ruleSet], [metadata, ruleSet])
    const bare = await registry().get<{ guid: string; metadata?: Json }>('/subjects/con-plain/versions/1')
    assert.notEqual(found.guid, bare.guid)
    assert.equal(bare.metadata, undefined)
  })

  test('a version without metadata and rules has those of the version before', async () => {
    await registry().register('con-heir', { schema: avroRecord('ConHeir'), metadata, ruleSet })
    await registry().register('con-heir', '{"type":"record","name":"ConHeir","doc":"second","fields":[]}')
    const found = await registry().get<{ metadata: Json; ruleSet: Json }>('/subjects/con-heir/versions/2')
    assert.deepEqual([found.metadata, found.ruleSet], [metadata, ruleSet])
  })

  test('defaults and overrides of the config are merged into a registration', async () => {
    await registry().ok('PUT', '/config/con-config', {
      defaultMetadata: { properties: { owner: 'default', a: '1' } },
      overrideMetadata: { properties: { b: '2' } },
    })
    await registry().register('con-config', {
      schema: avroRecord('ConConfig'),
      metadata: { properties: { owner: 'me', b: '0' } },
    })
    const found = await registry().get<{ metadata: Json }>('/subjects/con-config/versions/1')
    assert.deepEqual(found.metadata, { properties: { owner: 'me', a: '1', b: '2' } })
  })

  test('a version number in a normal registration is noted in the metadata, and a wrong one is refused', async () => {
    await registry().register('con-version', { schema: avroRecord('ConVersion'), version: 1 })
    const found = await registry().get<{ metadata: Json }>('/subjects/con-version/versions/1')
    assert.deepEqual(found.metadata, { properties: { 'confluent:version': '1' } })
    const wrong = { schema: '{"type":"record","name":"ConVersion","doc":"x","fields":[]}', version: 7 }
    await registry().refused(42201, 'POST', '/subjects/con-version/versions', wrong)
  })
}
