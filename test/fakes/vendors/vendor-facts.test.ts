import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { avroRecord, type Json, RegistryClient } from '../../suites/registry-client.ts'
import { startVendor, type VendorRegistry } from './start-vendor.ts'
import type { VendorName } from './vendor-script.ts'

type Registry = RegistryClient
type Check = (registry: Registry) => Promise<unknown>

/** What was seen on real servers, by vendor. A vendor without a check was not tried, or has nothing to show. */
interface Fact {
  fact: string
  confluent?: Check
  karapace?: Check
  axonops?: Check
}

const to = (name: string, subject: string, version = 1) => [{ name, subject, version }]
const put = (registry: Registry, path: string, body: Json) => registry.ok('PUT', path, body)
const marked = (name: string, doc: string) => avroRecord(name).replace('"type"', `"doc":"${doc}","type"`)
const versionsOf = (registry: Registry, subject: string) => registry.get<number[]>(`/subjects/${subject}/versions`)

/** The status, whatever the body is. */
async function status(registry: Registry, method: string, path: string, body?: Json): Promise<number> {
  return (await registry.send(method, path, body)).status
}

async function deleteForGood(registry: Registry, path: string): Promise<void> {
  await registry.ok('DELETE', path)
  await registry.ok('DELETE', `${path}?permanent=true`)
}

const takesAnyEncoding: Check = async registry => {
  await registry.register('Outer$Inner@a=b&c,d;e:f/g', avroRecord('Encoded'))
  for (const name of ['Outer%24Inner%40a%3Db%26c%2Cd%3Be%3Af%2Fg', 'Outer$Inner@a=b&c,d;e:f%2Fg'])
    assert.deepEqual(await versionsOf(registry, name), [1])
}

const isEmptyList: Check = async registry => {
  assert.deepEqual(await registry.get('/subjects'), [])
  assert.deepEqual(await registry.get('/subjects?deleted=true'), [])
}

/** After all versions of a subject are gone for good. */
const startsAgain: Check = async registry => {
  for (const doc of ['1', '2']) await registry.register('num', marked('Num', doc))
  for (const number of [1, 2]) await deleteForGood(registry, `/subjects/num/versions/${number}`)
  await registry.register('num', marked('Num', '3'))
  assert.deepEqual(await versionsOf(registry, 'num'), [1])
}

const protobuf = { schemaType: 'PROTOBUF', schema: 'syntax = "proto3"; package acme; message Order { string id = 1; }' }

const isSerialized: Check = async registry => {
  const id = await registry.register('proto', protobuf)
  for (const path of [`/schemas/ids/${id}`, '/subjects/proto/versions/1']) {
    const { schema } = await registry.get<{ schema: string }>(`${path}?format=serialized`)
    assert.match(schema, /^[A-Za-z0-9+/]+=*$/)
    const descriptor = Buffer.from(schema, 'base64').toString('latin1')
    assert.match(descriptor, /acme.*Order/s)
    assert.doesNotMatch(descriptor, /syntax =/)
    assert.equal((await registry.get<{ schema: string }>(path)).schema, protobuf.schema)
  }
}

const facts: Fact[] = [
  {
    fact: 'the list of subjects of an empty registry',
    confluent: isEmptyList,
    karapace: isEmptyList,
    axonops: async registry => {
      for (const path of ['/subjects', '/subjects?deleted=true&offset=0&limit=9', '/contexts/.eu/subjects'])
        assert.equal(await registry.get(path), null)
    },
  },
  {
    fact: 'where the server reports its version',
    confluent: async registry => {
      assert.partialDeepStrictEqual(await registry.get('/v1/metadata/version'), { version: '8.0.0' })
    },
    karapace: async registry => {
      assert.equal((await registry.get<{ karapace_version: string }>('/_health')).karapace_version, '6.2.0')
      assert.equal(await status(registry, 'GET', '/v1/metadata/version'), 404)
    },
    axonops: async registry => {
      assert.partialDeepStrictEqual(await registry.get('/v1/metadata/version'), { version: '1.2.0', commit: 'abc' })
    },
  },
  {
    fact: 'how path segments may be encoded',
    confluent: takesAnyEncoding,
    karapace: async registry => {
      await takesAnyEncoding(registry)
      await registry.register('a b', avroRecord('Plus'))
      assert.deepEqual(await versionsOf(registry, 'a+b'), [1])
      assert.equal(await status(registry, 'GET', '/subjects/a%2Bb/versions'), 404)
    },
    axonops: async registry => {
      const schema = avroRecord('Encoded')
      await registry.ok('POST', '/subjects/Outer$Inner+@=&:,;x/versions', { schema })
      assert.deepEqual(await registry.get('/subjects'), ['Outer$Inner+@=&:,;x'])
      for (const code of ['24', '2B', '40', '3D', '26', '3A', '2C', '3B']) {
        const character = decodeURIComponent(`%${code}`)
        const path = '/subjects/Outer$Inner+@=&:,;x/versions'.replace(character, `%${code}`)
        assert.equal(await status(registry, 'GET', path), 404, path)
      }
      // A name with a slash never matches; encoded, the percent sign becomes part of another name.
      await registry.ok('POST', '/subjects/a%2Fb/versions', { schema: avroRecord('Slash') })
      assert.ok((await registry.get<string[]>('/subjects')).includes('a%2Fb'))
      assert.equal((await registry.send('GET', '/subjects/a/b/versions')).text, '404 page not found\n')
    },
  },
  {
    fact: 'IDs that are kept by force',
    confluent: async registry => {
      await put(registry, '/mode', { mode: 'IMPORT' })
      assert.equal(await registry.register('f', { schema: avroRecord('F'), id: 41, version: 3 }), 41)
      assert.deepEqual(await versionsOf(registry, 'f'), [3])
    },
    karapace: async registry => {
      assert.equal(await status(registry, 'PUT', '/mode', { mode: 'IMPORT' }), 405)
      assert.notEqual(await registry.register('f', { schema: avroRecord('F'), id: 41, version: 3 }), 41)
      assert.deepEqual(await versionsOf(registry, 'f'), [1])
    },
    axonops: async registry => {
      await put(registry, '/mode', { mode: 'IMPORT' })
      assert.equal(await registry.register('f', { schema: avroRecord('F'), id: 41, version: 3 }), 41)
      assert.deepEqual(await versionsOf(registry, 'f'), [3])
    },
  },
  {
    fact: 'modes',
    confluent: async registry => {
      for (const mode of ['READONLY', 'READONLY_OVERRIDE', 'IMPORT', 'READWRITE'])
        await put(registry, '/mode', { mode })
      await registry.refused(42204, 'PUT', '/mode', { mode: 'FORWARD' })
    },
    karapace: async registry => {
      for (const path of ['/mode', '/mode/m']) {
        for (const method of ['PUT', 'DELETE'])
          assert.equal(await status(registry, method, path, { mode: 'READONLY' }), 405)
        assert.deepEqual(await registry.get(path), { mode: 'READWRITE' })
      }
    },
    axonops: async registry => {
      for (const mode of ['READONLY', 'IMPORT', 'READWRITE']) await put(registry, '/mode/m', { mode })
      for (const mode of ['READONLY_OVERRIDE', 'FORWARD']) await registry.refused(42204, 'PUT', '/mode/m', { mode })
    },
  },
  {
    fact: 'rule sets and metadata',
    confluent: async registry => {
      await registry.register('c', { schema: avroRecord('C'), ...contract })
      const found = await registry.get<Json>('/subjects/c/versions/1')
      assert.partialDeepStrictEqual(found, { metadata: contract.metadata })
      assert.ok(!('ruleSet' in Object(found)))
    },
    karapace: async registry => {
      await registry.register('c', { schema: avroRecord('C'), ...contract })
      const found = Object(await registry.get('/subjects/c/versions/1'))
      assert.ok(!('metadata' in found) && !('ruleSet' in found))
    },
    axonops: async registry => {
      await registry.register('c', { schema: avroRecord('C'), ...contract })
      assert.partialDeepStrictEqual(await registry.get('/subjects/c/versions/1'), contract)
      await put(registry, '/mode/d', { mode: 'IMPORT' })
      await registry.register('d', { schema: avroRecord('D'), id: 77, version: 1, ...contract })
      const found = Object(await registry.get('/subjects/d/versions/1'))
      assert.deepEqual(found.metadata, { properties: { 'confluent:version': '1' } })
      assert.equal(found.ruleSet, undefined)
    },
  },
  {
    fact: 'a reference to the default context from another',
    confluent: async registry => {
      await registry.register('base', avroRecord('Base'))
      const body = { schema: avroRecord('Ref', { a: 'Base' }), references: to('Base', ':.:base') }
      const message = await registry.refused(42201, 'POST', '/subjects/:.eu:ref/versions', body)
      assert.match(message, /":\.eu::\.:base"/)
    },
    karapace: async registry => {
      assert.equal(await status(registry, 'GET', '/contexts'), 404)
      await registry.register(':.eu:x', avroRecord('X'))
      assert.deepEqual(await registry.get('/subjects'), [':.eu:x'])
      assert.equal((await registry.get<{ subject: string }>('/subjects/%3A.eu%3Ax/versions/1')).subject, ':.eu:x')
    },
    axonops: async registry => {
      await registry.register('base', avroRecord('Base'))
      for (const subject of [':.:base', 'base']) {
        const body = { schema: avroRecord('Ref', { a: 'Base' }), references: to('Base', subject) }
        await registry.refused(42201, 'POST', '/contexts/.eu/subjects/ref/versions', body)
      }
    },
  },
  {
    fact: 'the config and the mode of a subject after its last soft delete',
    confluent: async registry => {
      await withSettings(registry)
      await registry.ok('DELETE', '/subjects/kept/versions/1')
      await registry.refused(40408, 'GET', '/config/kept')
      await registry.refused(40409, 'GET', '/mode/kept')
    },
    axonops: async registry => {
      await withSettings(registry)
      await registry.ok('DELETE', '/subjects/kept/versions/1')
      assert.deepEqual(await registry.get('/config/kept'), { compatibilityLevel: 'FULL' })
      assert.deepEqual(await registry.get('/mode/kept'), { mode: 'READWRITE' })
    },
  },
  {
    fact: 'a reference to a version that is marked as deleted',
    confluent: async registry => {
      await registry.register('base', avroRecord('Base'))
      await registry.ok('DELETE', '/subjects/base')
      await registry.register('ref', { schema: avroRecord('Ref', { a: 'Base' }), references: to('Base', 'base') })
    },
    karapace: async registry => {
      await registry.register('base', avroRecord('Base'))
      await registry.register('ref', { schema: avroRecord('Ref', { a: 'Base' }), references: to('Base', 'base') })
      await registry.refused(42206, 'DELETE', '/subjects/base/versions/1')
      await registry.ok('DELETE', '/subjects/ref/versions/1')
      await registry.refused(42206, 'DELETE', '/subjects/base/versions/1')
      await registry.ok('DELETE', '/subjects/ref/versions/1?permanent=true')
      await registry.ok('DELETE', '/subjects/base/versions/1')
    },
    axonops: async registry => {
      await registry.register('base', avroRecord('Base'))
      await registry.ok('DELETE', '/subjects/base')
      await put(registry, '/mode/ref', { mode: 'IMPORT' })
      const body = { schema: avroRecord('Ref', { a: 'Base' }), references: to('Base', 'base') }
      await registry.refused(42201, 'POST', '/subjects/ref/versions', { ...body, id: 9, version: 1 })
    },
  },
  {
    fact: 'what makes an Avro schema the same',
    confluent: async registry => {
      const ids = [await registry.register('i', marked('I', 'a')), await registry.register('i', marked('I', 'b'))]
      assert.notEqual(ids[0], ids[1])
      assert.equal((await registry.get<{ schema: string }>('/subjects/i/versions/2')).schema, marked('I', 'b'))
    },
    karapace: async registry => {
      await registry.register('i', '{ "type": "record", "name": "I", "fields": [] }')
      const found = await registry.get<{ schema: string }>('/subjects/i/versions/1')
      assert.equal(found.schema, '{"fields":[],"name":"I","type":"record"}')
      assert.equal(await registry.register('j', '{"name":"I","type":"record","fields":[]}'), 1)
    },
    axonops: async registry => {
      const first = await registry.register('i', marked('I', 'a'))
      assert.equal(await registry.register('i', marked('I', 'b')), first)
      assert.equal(await registry.register('i', marked('I', 'a').replace('"type"', '"aliases":["Old"],"type"')), first)
      assert.deepEqual(await versionsOf(registry, 'i'), [1])
      assert.equal(await registry.register('j', marked('I', 'c')), first)
      assert.equal((await registry.get<{ schema: string }>('/subjects/j/versions/1')).schema, marked('I', 'a'))
    },
  },
  {
    fact: 'the same schema twice in one subject with its old IDs',
    confluent: async registry => {
      await put(registry, '/mode', { mode: 'IMPORT' })
      await registry.register('t', { schema: avroRecord('T'), id: 41, version: 1 })
      assert.equal(await registry.register('t', { schema: avroRecord('T'), id: 42, version: 2 }), 42)
    },
    axonops: async registry => {
      await put(registry, '/mode', { mode: 'IMPORT' })
      await registry.register('t', { schema: avroRecord('T'), id: 41, version: 1 })
      assert.equal(await registry.register('t', { schema: avroRecord('T'), id: 42, version: 2 }), 41)
      assert.deepEqual(await versionsOf(registry, 't'), [1])
    },
  },
  {
    fact: 'a config without a level',
    karapace: async registry => {
      await registry.register('l', avroRecord('L'))
      assert.equal(await status(registry, 'PUT', '/config/l', { alias: 'other' }), 422)
    },
    confluent: async registry => {
      await put(registry, '/config/l', { alias: 'other' })
      assert.deepEqual(await registry.get('/config/l'), { alias: 'other', compatibilityLevel: 'BACKWARD' })
    },
    axonops: async registry => {
      assert.deepEqual(await put(registry, '/config/l', { alias: 'other' }), { compatibility: 'BACKWARD' })
      await registry.refused(40408, 'GET', '/config/l')
    },
  },
  {
    fact: 'the settings of a context that has none',
    confluent: async registry => {
      await registry.register(':.eu:x', avroRecord('X'))
      await registry.refused(40408, 'GET', '/config/:.eu:')
      await registry.refused(40409, 'GET', '/mode/:.eu:')
    },
    axonops: async registry => {
      for (const context of ['.eu', '.nowhere']) {
        assert.deepEqual(await registry.get(`/contexts/${context}/config`), { compatibilityLevel: 'BACKWARD' })
        assert.deepEqual(await registry.get(`/contexts/${context}/mode`), { mode: 'READWRITE' })
      }
    },
  },
  {
    fact: 'version numbers after all versions are deleted for good',
    confluent: startsAgain,
    karapace: startsAgain,
    axonops: async registry => {
      await registry.register('num', avroRecord('A'))
      await put(registry, '/config/num', { compatibility: 'NONE' })
      await deleteForGood(registry, '/subjects/num/versions/1')
      assert.deepEqual(await registry.get('/subjects?deleted=true'), ['num'])
      await registry.refused(40401, 'GET', '/subjects/num/versions?deleted=true')
      await registry.register('num', avroRecord('C'))
      assert.deepEqual(await versionsOf(registry, 'num'), [2])
      await deleteForGood(registry, '/subjects/num')
      await registry.register('num', avroRecord('D'))
      assert.deepEqual(await versionsOf(registry, 'num'), [1])
    },
  },
  {
    fact: 'a schema of one megabyte',
    confluent: async registry => {
      const schema = marked('Large', 'd'.repeat(2 ** 20))
      await registry.refused(42209, 'POST', '/subjects/large/versions', { schema })
    },
  },
  {
    fact: 'a Protobuf schema in the serialized format',
    confluent: isSerialized,
    karapace: async registry => {
      await registry.register('proto', protobuf)
      assert.equal((await registry.get<{ schema: string }>('/schemas/ids/1?format=serialized')).schema, protobuf.schema)
    },
    axonops: isSerialized,
  },
  {
    fact: 'JSON Schemas that refer to others',
    confluent: async registry => {
      await registry.register('json-ref', await jsonWithReference(registry))
    },
    karapace: async registry => {
      await registry.refused(44302, 'POST', '/subjects/json-ref/versions', await jsonWithReference(registry))
    },
    axonops: async registry => {
      await registry.register('json-ref', await jsonWithReference(registry))
    },
  },
]

const contract = {
  metadata: { properties: { owner: 'team' } },
  ruleSet: { domainRules: [{ name: 'r', kind: 'CONDITION', mode: 'WRITE', type: 'CEL', expr: 'true' }] },
}

async function withSettings(registry: Registry): Promise<void> {
  await registry.register('kept', avroRecord('Kept'))
  await put(registry, '/config/kept', { compatibility: 'FULL' })
  await put(registry, '/mode/kept', { mode: 'READWRITE' })
}

async function jsonWithReference(registry: Registry): Promise<Json> {
  await registry.register('json-base', { schemaType: 'JSON', schema: '{"$id":"base.json","type":"string"}' })
  return { schemaType: 'JSON', schema: '{"$ref":"base.json"}', references: to('base.json', 'json-base') }
}

for (const vendor of ['confluent', 'karapace', 'axonops'] as const satisfies VendorName[]) {
  describe(`a scripted ${vendor} answers as the real one does`, () => {
    for (const { fact, [vendor]: check } of facts) {
      if (check === undefined) continue
      describe(fact, () => {
        let registry: VendorRegistry
        before(async () => {
          registry = await startVendor(vendor)
        })
        after(() => registry.close())
        test(`${vendor}: ${fact}`, async () => {
          await check(new RegistryClient(registry.url))
        })
      })
    }
  })
}
