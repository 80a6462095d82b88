import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitsAvro } from '../../../src/registry/avro/fits-avro.ts'
import { parseAvro } from '../../../src/registry/avro/parse-avro.ts'

const fits = (schema: unknown, ...bytes: number[]) => {
  const buffer = Buffer.from([9, ...bytes, 9])
  return fitsAvro(parseAvro(JSON.stringify(schema)), buffer, 1, buffer.length - 1)
}

test('a value of a schema is known by its bytes, to the last one', () => {
  const fixed = { type: 'fixed', name: 'f', size: 2 }
  const abc = { type: 'enum', name: 'e', symbols: ['A', 'B'] }
  const tree = { type: 'record', name: 't', fields: [{ name: 'next', type: ['null', 't'] }] }
  const good: [unknown, number[]][] = [
    ['null', []],
    ['boolean', [1]],
    ['int', [0x80, 1]],
    ['long', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]],
    ['float', [1, 2, 3, 4]],
    ['double', [1, 2, 3, 4, 5, 6, 7, 8]],
    ['string', [4, 65, 66]],
    ['bytes', [0]],
    [fixed, [1, 2]],
    [abc, [2]],
    [tree, [2, 2, 0]],
    [{ type: 'array', items: 'int' }, [4, 2, 2, 0]],
    [{ type: 'array', items: 'int' }, [3, 4, 2, 2, 0]],
    [{ type: 'map', values: 'boolean' }, [2, 2, 65, 1, 0]],
    [{ type: 'record', name: 'r', fields: [] }, []],
  ]
  for (const [schema, bytes] of good) {
    assert.equal(fits(schema, ...bytes), true, JSON.stringify(schema))
    assert.equal(fits(schema, ...bytes, 0), false, `${JSON.stringify(schema)} and a byte more`)
    if (bytes.length > 0)
      assert.equal(fits(schema, ...bytes.slice(0, -1)), false, `${JSON.stringify(schema)} cut short`)
  }
})

test('bytes that no value of a schema has are found', () => {
  assert.equal(fits('boolean', 2), false)
  assert.equal(fits('string', 1), false)
  assert.equal(fits({ type: 'enum', name: 'e', symbols: ['A', 'B'] }, 4), false)
  assert.equal(fits(['null', 'int'], 4, 0), false)
  assert.equal(fits({ type: 'array', items: 'null' }, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0), false)
  const endless = { type: 'record', name: 'l', fields: [{ name: 'again', type: 'l' }] }
  assert.equal(fits(endless), false)
})
