import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { belonging, indexSchemas, recordNames } from '../../../src/registry/ids/known-schemas.ts'
import { schemaVersion } from './sample-schemas.ts'

describe('the subjects of an id', () => {
  test('are those of all versions that have it, in its context, deleted ones too', () => {
    const known = indexSchemas([
      schemaVersion('a-value', 1),
      schemaVersion('b-value', 1, { isDeleted: true }),
      schemaVersion(':.eu:c-value', 1),
    ])
    assert.deepEqual([...(known.get('.', 1)?.subjects ?? [])], ['a-value', 'b-value'])
    assert.deepEqual([...(known.get('.eu', 1)?.subjects ?? [])], ['c-value'])
    assert.equal(known.get('.', 2), undefined)
  })

  const how = (subject: string, part: 'key' | 'value' = 'value') => {
    const schema = indexSchemas([schemaVersion(subject, 1)]).get('.', 1)
    return schema && belonging(schema, 'orders', part)
  }

  test('belong to a topic by its name', () => {
    assert.equal(how('orders-value'), 'topic')
    assert.equal(how('orders-key', 'key'), 'topic')
    assert.equal(how('orders-shop.Order'), 'topic')
  })

  test('belong to any topic by the name of the record', () => assert.equal(how('shop.Order'), 'record'))

  test('do not belong to another part, another topic or a topic of which only the beginning is the same', () => {
    const others = ['orders-key', 'payments-value', 'orders', 'orders-x', 'orders-eu-value', 'other.Order']
    for (const subject of others) assert.equal(how(subject), 'none', subject)
    assert.equal(how('orders-value', 'key'), 'none')
  })
})

describe('the names of the records of a schema', () => {
  const names = (...args: Parameters<typeof recordNames>) => [...recordNames(...args)]

  test('of Avro are with their namespace, of each branch of a union, and of plain types', () => {
    const record = { type: 'record', name: 'A', namespace: 'x.y', fields: [] }
    assert.deepEqual(names('AVRO', JSON.stringify(record)), ['x.y.A'])
    assert.deepEqual(names('AVRO', JSON.stringify({ ...record, name: 'p.q.A' })), ['p.q.A'])
    assert.deepEqual(names('AVRO', JSON.stringify({ ...record, namespace: undefined })), ['A'])
    assert.deepEqual(names('AVRO', JSON.stringify(['null', record])), ['null', 'x.y.A'])
    assert.deepEqual(names('AVRO', '"long"'), ['long'])
    assert.deepEqual(names('AVRO', '{"type":"string"}'), ['string'])
  })

  test('of JSON Schema are the title', () => {
    assert.deepEqual(names('JSON', '{"title":"Order","type":"object"}'), ['Order'])
    assert.deepEqual(names('JSON', '{"type":"object"}'), [])
  })

  test('of Protobuf are all messages, inner ones by their outer, and no comments or strings', () => {
    const text = `syntax = "proto3"; package shop.v1; // message Not {
      import "message Neither {.proto"; /* message Nor { */
      message Order { message Line { string message = 1; } enum Kind { A = 0; } Line line = 1; oneof x { int32 y = 2; } }
      service S { rpc Get (Order) returns (Order) {} }
      message Other {}`
    assert.deepEqual(names('PROTOBUF', text), ['shop.v1.Order', 'shop.v1.Order.Line', 'shop.v1.Other'])
    assert.deepEqual(names('PROTOBUF', 'message A {}'), ['A'])
  })

  test('are none of a text that nobody can read', () => {
    assert.deepEqual([names('AVRO', 'not json'), names('JSON', '['), names('PROTOBUF', '')], [[], [], []])
  })
})
