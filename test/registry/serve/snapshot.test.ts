import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RegistrySettings, RegistrySnapshot, SchemaVersion } from '../../../src/archive/registry-model.ts'
import { RegistryFault } from '../../../src/registry/serve/registry-fault.ts'
import { RegistryStore } from '../../../src/registry/serve/registry-store.ts'

const nothing: RegistrySettings = { compatibility: null, mode: null, config: null }

const version = (subject: string, number: number, id: number, more: Partial<SchemaVersion> = {}): SchemaVersion => ({
  subject,
  version: number,
  id,
  schemaType: 'AVRO',
  schema: `{"type": "fixed",\n "name": "F${id}", "size": 1}`,
  references: [],
  metadata: null,
  ruleSet: null,
  guid: null,
  isDeleted: false,
  ...more,
})

const snapshot: RegistrySnapshot = {
  flavour: 'confluent',
  registryVersion: '7.9.0',
  takenAt: '2026-01-01T00:00:00.000Z',
  contexts: ['.', '.other', '.empty'],
  versions: [
    version('a', 1, 5, { isDeleted: true, guid: '00000000-0000-0000-0000-000000000005' }),
    version('a', 3, 9),
    version('gone', 1, 7, { isDeleted: true }),
    version(':.other:b', 2, 9, { schema: '"string"' }),
  ],
  subjects: new Map([
    ['a', { compatibility: 'FULL', mode: 'READONLY', config: { normalize: true } }],
    ['gone', nothing],
    [':.other:b', nothing],
  ]),
  contextSettings: new Map([['.other', { compatibility: 'NONE', mode: null, config: null }]]),
  global: { compatibility: 'FORWARD', mode: 'IMPORT', config: null },
  maxIds: new Map([['.', 40]]),
  skippedDeleted: 0,
  warnings: [],
}

const store = () => new RegistryStore({ isReadOnly: true }, snapshot)
const content = { schemaType: 'AVRO', references: [], metadata: null, ruleSet: null, id: null, version: 0 } as const

test('a served backup has the subjects, numbers, ids and texts of its snapshot, soft-deleted ones too', () => {
  const all = { prefix: ':*:', including: 'all', offset: 0, limit: 0 } as const
  assert.deepEqual(store().subjects(all), ['a', 'gone', ':.other:b'])
  assert.deepEqual(store().subjects({ ...all, including: 'live' }), ['a', ':.other:b'])
  assert.deepEqual(
    store()
      .versions('a', 'all')
      .map(({ version, id, isDeleted }) => [version, id, isDeleted]),
    [
      [1, 5, true],
      [3, 9, false],
    ],
  )
  assert.equal(store().byId(9, '').schema, '{"type": "fixed",\n "name": "F9", "size": 1}')
  assert.equal(store().byId(9, ':.other:').schema, '"string"')
  assert.equal(store().byId(7, '').subject, 'gone')
})

test('a served backup keeps guids that it knows and makes out the others', () => {
  assert.equal(store().byId(5, '').guid, '00000000-0000-0000-0000-000000000005')
  assert.match(store().byId(9, '').guid, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
})

test('a served backup shows settings as they were: unset stays unset (case 18)', () => {
  assert.deepEqual(store().config('a', false), { normalize: true, compatibilityLevel: 'FULL' })
  assert.equal(store().mode('a', false), 'READONLY')
  refused(40408, () => store().config('gone', false))
  refused(40409, () => store().mode('gone', false))
  assert.deepEqual(store().config(':.:', false), { compatibilityLevel: 'FORWARD' })
  assert.equal(store().mode(':.:', false), 'IMPORT')
  assert.deepEqual(store().config(':.other:', false), { compatibilityLevel: 'NONE' })
  assert.equal(store().config(':.other:b', true).compatibilityLevel, 'NONE')
  assert.deepEqual(store().contexts(), ['.', '.empty', '.other'])
  assert.deepEqual([store().maxId('.'), store().maxId('.other')], [40, 9])
})

test('a served backup takes no change, whatever its modes say', () => {
  const registry = store()
  const changes: (() => unknown)[] = [
    () => registry.register('new', { ...content, schema: '"int"' }),
    () => registry.register('a', { ...content, schema: '"int"', id: 99, version: 4 }),
    () => registry.deleteSubject('a', false),
    () => registry.deleteSubject('gone', true),
    () => registry.deleteVersion('a', 3, false),
    () => registry.updateConfig('a', { compatibility: 'NONE' }),
    () => registry.updateConfig(':.:', { compatibility: 'NONE' }),
    () => registry.deleteConfig('a'),
    () => registry.deleteConfig(':.:'),
    () => registry.setMode('a', 'READWRITE', true),
    () => registry.setMode(':.:', 'READWRITE', true),
    () => registry.deleteMode('a'),
  ]
  for (const change of changes) refused(42205, change)
  assert.equal(registry.mode('a', false), 'READONLY')
})

test('a served backup answers producers that register what it holds', () => {
  const { schema } = store().byId(9, '')
  assert.equal(store().register('a', { ...content, schema }).id, 9)
  assert.equal(store().lookUp('a', { ...content, schema }, 'live').version, 3)
})

test('a loaded registry that takes changes goes on above the highest id that was ever given (case 27)', () => {
  const registry = new RegistryStore({}, { ...snapshot, global: nothing })
  assert.equal(registry.register('new', { ...content, schema: '"int"' }).id, 41)
  assert.equal(registry.register(':.other:new', { ...content, schema: '"int"' }).id, 10)
})

test('levels and modes that are not known here are left out', () => {
  const odd = { compatibility: 'SYNTAX_ONLY', mode: 'FROZEN', config: null }
  const registry = new RegistryStore({}, { ...snapshot, subjects: new Map([['a', odd]]) })
  refused(40408, () => registry.config('a', false))
  refused(40409, () => registry.mode('a', false))
})

test('an empty snapshot is an empty registry (case 42)', () => {
  const empty = {
    ...snapshot,
    contexts: ['.'],
    versions: [],
    subjects: new Map(),
    contextSettings: new Map(),
    maxIds: new Map(),
  }
  const registry = new RegistryStore({ isReadOnly: true }, empty)
  assert.deepEqual(registry.subjects({ prefix: ':*:', including: 'all', offset: 0, limit: 0 }), [])
  refused(40403, () => registry.byId(1, ''))
})

function refused(code: number, call: () => unknown): void {
  assert.throws(call, error => error instanceof RegistryFault && error.errorCode === code, `${code} is expected`)
}
