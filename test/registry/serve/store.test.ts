import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RegisterRequest } from '../../../src/registry/serve/change-versions.ts'
import { RegistryFault } from '../../../src/registry/serve/registry-fault.ts'
import type { StoreOptions } from '../../../src/registry/serve/registry-state.ts'
import { RegistryStore } from '../../../src/registry/serve/registry-store.ts'

const avro = (schema: string, more: Partial<RegisterRequest> = {}): RegisterRequest => ({
  schema,
  schemaType: 'AVRO',
  references: [],
  metadata: null,
  ruleSet: null,
  id: null,
  version: 0,
  ...more,
})
const fixed = (name: string, size = 1) => `{"type":"fixed","name":"${name}","size":${size}}`
const open = (options: StoreOptions = {}) => new RegistryStore(options)

test('ids begin with 1, or where they are told to, in every context', () => {
  const ids = (store: RegistryStore) =>
    ['a', 'b', ':.c:a'].map(subject => store.register(subject, avro(fixed(subject.at(-1) ?? ''))).id)
  assert.deepEqual(ids(open()), [1, 2, 1])
  assert.deepEqual(ids(open({ firstId: 500 })), [500, 501, 500])
})

test('an id is given once: a hard delete does not free it (case 27)', () => {
  const store = open()
  store.register('a', avro(fixed('A')))
  store.deleteSubject('a', false)
  store.deleteSubject('a', true)
  assert.equal(store.register('b', avro(fixed('B'))).id, 2)
})

test('texts are kept byte for byte, and the same schema in another layout is the same version (case 16)', () => {
  const store = open()
  const text = '{ "type" : "fixed",\n\t"name":"A", "size":1, "doc": "ä  b" }'
  store.register('a', avro(text))
  assert.equal(store.version('a', 1, 'live').schema, text)
  assert.equal(store.register('a', avro(text.replace(/[ \n\t]+(?=["\n{}:,])/g, ''))).version, 1)
})

test('the whole registry goes to IMPORT when it is empty, and imports into every subject of the default context', () => {
  const store = open()
  store.register('a', avro(fixed('A')))
  refused(42205, () => store.setMode(':.:', 'IMPORT', false))
  store.deleteSubject('a', false)
  store.setMode(':.:', 'IMPORT', false)
  assert.deepEqual(store.subjects({ prefix: ':*:', including: 'all', offset: 0, limit: 0 }), [])
  assert.equal(store.register('b', avro(fixed('B'), { id: 77, version: 4 })).version, 4)
})

test('a context goes to IMPORT without touching another', () => {
  const store = open()
  store.register('a', avro(fixed('A')))
  store.register(':.c:a', avro(fixed('A')))
  store.deleteSubject(':.c:a', false)
  store.setMode(':.c:', 'IMPORT', false)
  assert.equal(store.register(':.c:b', avro(fixed('B'), { id: 9, version: 1 })).id, 9)
  assert.equal(store.register('c', avro(fixed('C'))).id, 2)
  refused(40401, () => store.versions(':.c:a', 'all'))
})

test('IMPORT that is set already is set again without a look at what was imported', () => {
  const store = open()
  store.setMode('a', 'IMPORT', false)
  store.register('a', avro(fixed('A'), { id: 3, version: 1 }))
  assert.equal(store.setMode('a', 'IMPORT', false), 'IMPORT')
})

test('an import over an existing version replaces it, and its old id is gone (case 25)', () => {
  const store = open()
  store.setMode('a', 'IMPORT', false)
  store.register('a', avro(fixed('A'), { id: 3, version: 1 }))
  store.register('a', avro(fixed('B'), { id: 4, version: 1 }))
  assert.equal(store.version('a', 1, 'live').id, 4)
  refused(40403, () => store.byId(3, ''))
})

test('an import takes defaults that a new registration does not', () => {
  const text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'
  const store = open()
  refused(42201, () => store.register('a', avro(text)))
  store.setMode('a', 'IMPORT', false)
  assert.equal(store.register('a', avro(text, { id: 1, version: 1 })).id, 1)
  refused(42201, () => store.register('a', avro('{"type":', { id: 2, version: 2 })))
})

test('a lower version of an id leaves a soft-deleted higher one alone', () => {
  const store = open()
  store.setMode('a', 'IMPORT', false)
  store.register('a', avro(fixed('A'), { id: 1, version: 5 }))
  store.deleteVersion('a', 5, false)
  store.setMode('a', 'IMPORT', true)
  store.register('a', avro(fixed('A'), { id: 1, version: 2 }))
  assert.deepEqual(
    store.versions('a', 'all').map(({ version, isDeleted }) => [version, isDeleted]),
    [
      [2, false],
      [5, true],
    ],
  )
})

test('latest is the highest that lives, also where soft-deleted ones are asked for (case 9)', () => {
  const store = open()
  store.register('a', avro(fixed('A')))
  store.register('a', avro('{"type":"fixed","name":"A","size":1,"doc":"2"}'))
  store.deleteVersion('a', 2, false)
  assert.equal(store.version('a', -1, 'all').version, 1)
  store.deleteVersion('a', 1, false)
  assert.equal(store.version('a', -1, 'all').version, 2)
  refused(40401, () => store.version('a', -1, 'live'))
})

test('a schema is looked up without the metadata that it has inherited', () => {
  const store = open()
  const metadata = { properties: { owner: 'me' } }
  store.register('a', avro(fixed('A'), { metadata }))
  assert.equal(store.lookUp('a', avro(fixed('A')), 'live').version, 1)
  refused(40403, () => store.lookUp('a', avro(fixed('A'), { metadata: { properties: { owner: 'you' } } }), 'live'))
})

test('a registry that overrides all modes takes no delete and no config', () => {
  const store = open()
  store.register('a', avro(fixed('A')))
  store.setMode('a', 'READWRITE', false)
  store.setMode(':.:', 'READONLY_OVERRIDE', false)
  refused(42205, () => store.deleteSubject('a', false))
  refused(42205, () => store.updateConfig('a', { compatibility: 'NONE' }))
})

test('a reference to the latest version is registered by its number', () => {
  const store = open()
  store.register('a', avro('{"type":"record","name":"A","fields":[]}'))
  store.register('a', avro('{"type":"record","name":"A","doc":"2","fields":[]}'))
  const references = [{ name: 'A', subject: 'a', version: -1 }]
  store.register('b', avro('{"type":"array","items":"A"}', { references }))
  assert.deepEqual(store.version('b', 1, 'live').references, [{ name: 'A', subject: 'a', version: 2 }])
})

test('compatibility looks through references', () => {
  const store = open()
  store.register('a', avro(fixed('A', 1)))
  store.updateConfig('a', { compatibility: 'NONE' })
  store.register('a', avro(fixed('A', 2)))
  const using = (version: number, doc: string) =>
    avro(`{"type":"record","name":"R","doc":"${doc}","fields":[{"name":"a","type":"A"}]}`, {
      references: [{ name: 'A', subject: 'a', version }],
    })
  store.register('r', using(1, 'one'))
  refused(40901, () => store.register('r', using(2, 'two')))
  assert.equal(store.register('r', using(1, 'three')).version, 2)
})

test('a forced registration is not held against earlier versions', () => {
  const store = open()
  store.register('a', avro(fixed('A', 1)))
  refused(40901, () => store.register('a', avro(fixed('A', 2))))
  assert.equal(store.register('a', avro(fixed('A', 2)), true).version, 2)
})

test('JSON Schema and Protobuf are not judged, but no version changes its type', () => {
  const store = open()
  const json = (schema: string) => avro(schema, { schemaType: 'JSON' })
  store.register('j', json('{"type":"string"}'))
  assert.equal(store.register('j', json('{"type":"number"}')).version, 2)
  refused(40901, () => store.register('j', avro('"string"')))
  refused(42201, () => store.register('j', json('[1]')))
  refused(42201, () => store.register('p', avro('  ', { schemaType: 'PROTOBUF' })))
})

test('reasons name the version, the place and who cannot read', () => {
  const store = open()
  store.register('a', avro('{"type":"record","name":"R","fields":[]}'))
  const reasons = store.incompatibilities(
    'a',
    avro('{"type":"record","name":"R","fields":[{"name":"x","type":"int"}]}'),
  )
  assert.deepEqual(reasons, [
    "READER_FIELD_MISSING_DEFAULT_VALUE at /fields/x: the new schema cannot read version 1: the reader's field R.x has no default, and the writer has no such field",
  ])
})

test('the empty subject is a subject, and control characters and reserved names are none (case 15)', () => {
  const store = open()
  store.register('', avro(fixed('A')))
  assert.deepEqual(store.subjects({ prefix: ':*:', including: 'live', offset: 0, limit: 0 }), [''])
  for (const name of ['a\u0000b', 'a\nb', '__GLOBAL', '__EMPTY', ':.c:__GLOBAL'])
    refused(42208, () => store.register(name, avro(fixed('A'))))
})

test('an alias of a context stays in it', () => {
  const store = open()
  store.register(':.c:target', avro(fixed('A')))
  store.updateConfig(':.c:name', { alias: 'target' })
  assert.equal(store.version(':.c:name', 1, 'live').subject, ':.c:target')
  assert.deepEqual(store.aliasesOf(':.c:target'), [':.c:name'])
})

test('an id is found in another context by the name of its subject', () => {
  const store = open()
  store.register(':.b:another', avro(fixed('B')))
  store.register(':.c:only-there', avro(fixed('A')))
  assert.equal(store.byId(1, 'only-there').subject, ':.c:only-there')
  refused(40403, () => store.byId(1, ''))
})

function refused(code: number, call: () => unknown): void {
  assert.throws(
    call,
    error => {
      assert.ok(error instanceof RegistryFault, String(error))
      assert.equal(error.errorCode, code, error.message)
      return true
    },
    `${code} is expected`,
  )
}
