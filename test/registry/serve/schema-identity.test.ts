import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { guidOf, identityOf, type SchemaContent } from '../../../src/registry/serve/schema-identity.ts'

const plain: SchemaContent = { schemaType: 'AVRO', schema: '"string"', references: [], metadata: null, ruleSet: null }

const others: [what: string, SchemaContent][] = [
  ['text', { ...plain, schema: '"int"' }],
  ['space within a text of its own', { ...plain, schema: '" string"' }],
  ['a reference', { ...plain, references: [{ name: 'a', subject: 's', version: 1 }] }],
  ['the version of a reference', { ...plain, references: [{ name: 'a', subject: 's', version: 2 }] }],
  ['the subject of a reference', { ...plain, references: [{ name: 'a', subject: 't', version: 1 }] }],
  ['the name of a reference', { ...plain, references: [{ name: 'b', subject: 's', version: 1 }] }],
  ['empty metadata', { ...plain, metadata: {} }],
  ['a property', { ...plain, metadata: { properties: { a: '1' } } }],
  ['a rule', { ...plain, ruleSet: { domainRules: [{ name: 'r' }] } }],
  ['a rule that is off', { ...plain, ruleSet: { domainRules: [{ name: 'r', disabled: true }] } }],
]

test('a schema that differs in any part has another identity and another guid', () => {
  const all = [plain, ...others.map(([, content]) => content)]
  assert.equal(new Set(all.map(identityOf)).size, all.length)
  assert.equal(new Set(all.map(guidOf)).size, all.length)
})

test('space between tokens and the order of keys of metadata make no other schema', () => {
  const spaced = { ...plain, schema: ' {"type" :\n "string", "doc": "a  \\" b"}' }
  const tight = { ...plain, schema: '{"type":"string","doc":"a  \\" b"}' }
  assert.equal(identityOf(spaced), identityOf(tight))
  assert.equal(guidOf(spaced), guidOf(tight))
  const ab = { ...plain, metadata: { properties: { a: '1', b: '2' } } }
  const ba = { ...plain, metadata: { properties: { b: '2', a: '1' } } }
  assert.equal(identityOf(ab), identityOf(ba))
  assert.equal(guidOf(ab), guidOf(ba))
})

test('space in Protobuf is content', () => {
  const proto = { ...plain, schemaType: 'PROTOBUF' as const, schema: 'message A {}' }
  assert.notEqual(identityOf(proto), identityOf({ ...proto, schema: 'message  A {}' }))
})

test('the type of a schema is part of its identity', () => {
  assert.notEqual(identityOf(plain), identityOf({ ...plain, schemaType: 'JSON' }))
})

test('the guid of a plain schema is the MD5 of its text as a UUID', () => {
  assert.equal(guidOf(plain).replaceAll('-', ''), createHash('md5').update('"string"').digest('hex'))
})
