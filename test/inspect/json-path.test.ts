import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fitsPath, parsePathCondition } from '../../src/inspect/json-path.ts'

const order = {
  id: 42,
  big: 9_007_199_254_740_993n,
  status: 'open',
  customer: { name: 'Ada', 'a.b': true, note: null },
  items: [
    { sku: 'A1', price: 10.5 },
    { sku: 'B2', price: 200 },
  ],
}

const fits = (text: string) => fitsPath(parsePathCondition(text), order)

describe('a condition on a JSON path', () => {
  test('finds a value by name, position, quoted name or on every place of a level', () => {
    assert.ok(fits('customer.name=Ada'))
    assert.ok(fits('$.customer.name=Ada'))
    assert.ok(fits('items[1].sku=B2'))
    assert.ok(fits('items[*].sku=B2'))
    assert.ok(fits('customer["a.b"]=true'))
    assert.ok(fits('$["customer"].name=Ada'))
    assert.ok(fits('*.name=Ada'))
    assert.ok(!fits('items[2].sku=B2'))
    assert.ok(!fits('items.0.sku.x=A1'))
    assert.ok(!fits('customer.name.length=3'))
  })

  test('compares numbers as numbers, of any size, and text as text', () => {
    assert.ok(fits('id=42'))
    assert.ok(fits('id=42.0'))
    assert.ok(fits('id>=42') && fits('id<=42') && !fits('id>42') && !fits('id<42'))
    assert.ok(fits('big=9007199254740993'))
    assert.ok(!fits('big=9007199254740992'))
    assert.ok(fits('big>9007199254740992'))
    assert.ok(fits('items[*].price>100') && !fits('items[*].price>1000'))
    assert.ok(!fits('status>1'))
    assert.ok(!fits('status=42'))
    assert.ok(fits('customer.note=null'))
  })

  test('without a value asks whether the place exists', () => {
    assert.ok(fits('customer.note'))
    assert.ok(!fits('customer.missing'))
    assert.ok(!fits('__proto__') && !fits('customer.constructor'))
  })

  test('with != needs the place, and no equal value on any of several', () => {
    assert.ok(fits('status!=done'))
    assert.ok(!fits('status!=open'))
    assert.ok(!fits('missing!=x'))
    assert.ok(!fits('items[*].sku!=A1'))
    assert.ok(fits('items[*].sku!=C3'))
  })

  test('knows numbers in all their forms, and names that begin with a dollar', () => {
    const at = (text: string, value: unknown) => fitsPath(parsePathCondition(text), value)
    assert.ok(at('p=.5', { p: 0.5 }) && at('p=+5', { p: 5 }) && at('p>.4', { p: 0.5 }))
    assert.ok(at('x=100000000000000000000000', { x: 1e23 }))
    assert.ok(at('x=1e30', { x: 10n ** 30n }))
    assert.ok(at('$type=Order', { $type: 'Order' }) && at('$oid', { $oid: '1' }) && at('$.a', { a: 1 }))
    assert.ok(!at('p>5', { p: '10.5' }) && at('p>5', { p: 10.5 }))
    assert.ok(!at('p<5', { p: Number.NaN }) && !at('p=5', { p: '5.0' }))
  })

  test('compares a value in quotes as text only', () => {
    assert.ok(fits('customer.name="Ada"'))
    assert.ok(!fits('id="42"'))
    assert.ok(fitsPath(parsePathCondition('a="\\u0041"'), { a: 'A' }))
  })

  test('takes everything after the operator as the value', () => {
    assert.ok(fitsPath(parsePathCondition('a=b=c'), { a: 'b=c' }))
    assert.ok(fitsPath(parsePathCondition('a= x '), { a: ' x ' }))
    assert.ok(fitsPath(parsePathCondition('a='), { a: '' }))
  })

  test('that cannot be read is refused with an example', () => {
    for (const text of ['', '=1', 'a[', 'a[x]', 'a b', 'price>cheap', 'id==42', '["a]=1']) {
      assert.throws(
        () => parsePathCondition(text),
        { code: 'USAGE', message: /--where .*such as customer\.id=42/ },
        text,
      )
    }
  })
})
