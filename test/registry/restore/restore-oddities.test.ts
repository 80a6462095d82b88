import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SchemaVersion } from '../../../src/archive/registry-model.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { backUp, forced, openStage } from './schema-stage.ts'

const ways = [
  { way: 'with force_ids', options: forced },
  { way: 'with IDs of the target', options: {} },
] as const

const texts: Partial<SchemaVersion>[] = [
  { schema: '{"type":"record","name":"Big","fields":[{"name":"n","type":"long","default":9223372036854775807}]}' },
  {
    schema: '{ "type":"enum",\n "name":"Odd", "doc":"\\u0000 ü \\u00fc 😀 \\"", "symbols":["A"], "aliases":["Older"] }',
  },
  {
    schemaType: 'JSON',
    schema: '{"$id":"https://example.com/a.json","$ref":"https://example.com/b.json#/x", "type":"object"}',
  },
  {
    schemaType: 'PROTOBUF',
    schema:
      'syntax = "proto2";\nimport "google/protobuf/any.proto";\n// kept\nmessage M {\n  optional int32 x = 1 [deprecated = true];\n}\n',
  },
  { schema: `{"type":"enum","name":"Long","doc":"${'x'.repeat(1024 * 1024)}","symbols":["A"]}` },
]

const names = ['a b', '100%', 'a+b', 'a?b#c', 'ünï/✓', '../x', '..', ':.eu:geo/point.proto', 'x'.repeat(300), '"\\']

describe('a restore of schemas', () => {
  for (const { way, options } of ways) {
    test(`${way} leaves every text as it was, to the byte (cases 16, 17)`, async t => {
      const backup = await backUp(snapshotOf(texts.map((text, at) => versionOf(`s${at}`, 1, at + 1, text))))
      const stage = await openStage(t, backup, { firstId: 50 })
      await stage.restore(options)
      assert.deepEqual(
        (await stage.snapshot()).versions.map(({ schema, schemaType }) => [schemaType, schema]),
        texts.map(({ schemaType = 'AVRO', schema }) => [schemaType, schema]),
      )
    })

    test(`${way} leaves every subject under its name, whatever that is (cases 14, 15)`, async t => {
      const versions = names.toSorted().map((name, at) => versionOf(name, 1, at + 1))
      const settings = Object.fromEntries(names.map(name => [name, { compatibility: 'FULL' }]))
      const backup = await backUp(snapshotOf(versions, { subjects: settings, contexts: ['.', '.eu'] }))
      const stage = await openStage(t, backup, { firstId: 50 })
      await stage.restore(options)
      const after = await stage.snapshot()
      assert.deepEqual(after.versions.map(({ subject }) => subject).sort(), names.toSorted())
      assert.deepEqual(Object.fromEntries(after.subjects), Object.fromEntries(backup.subjects))
    })

    test(`${way} restores the subject without a name (case 15)`, async t => {
      const backup = await backUp(snapshotOf([versionOf('', 1, 7)]))
      const stage = await openStage(t, backup, { firstId: 50 })
      await stage.restore(options)
      assert.deepEqual(
        (await stage.snapshot()).versions.map(({ subject, schema }) => [subject, schema]),
        [['', versionOf('', 1, 7).schema]],
      )
      stage.takeWrites()
      await stage.restore(options)
      assert.deepEqual(stage.takeWrites(), [])
    })
  }
})
