import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import protobuf from 'protobufjs'
import { ProtoMessages } from '../../src/inspect/proto-messages.ts'
import { readProto } from '../../src/inspect/read-proto.ts'

const schema = `
  syntax = "proto3";
  package shop.orders;
  import "google/protobuf/timestamp.proto";
  import "money.proto";
  // message Decoy { }
  enum Color { UNKNOWN = 0; GREEN = 7; }
  message Order {
    message Line { string sku = 1; sint32 count = 2; shop.Money price = 3; }
    message Empty {}
    int32 small = 1; int64 large = 2; uint64 unsigned = 3; sint64 signed = 4; fixed64 fixed = 5; sfixed32 fixed_small = 6;
    bool flag = 7; double third = 8; float half = 9; string text = 10; bytes raw = 11; Color color = 12;
    repeated Line lines = 13; repeated int64 packed = 14; repeated string names = 15; map<string, Line> by_name = 16;
    map<int64, Color> colors = 17; google.protobuf.Timestamp at = 18; oneof choice { string left = 19; Line right = 20; }
    optional int32 maybe = 21;
  }
  message Second { string id = 1; }
`
const money = { name: 'money.proto', text: 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }' }

const value = {
  ...{ small: -1, large: 9_007_199_254_740_991, unsigned: 3, signed: -4, fixed: 5, fixed_small: -6, flag: true },
  ...{ third: 1 / 3, half: 0.5, text: 'für', raw: Buffer.from([0, 255]), color: 7 },
  lines: [{ sku: 'a', count: -2, price: { cents: 199 } }, { sku: 'b' }],
  ...{ packed: [1, -2, 3], names: ['x', 'y'], by_name: { constructor: { sku: 'c' } }, colors: { 5: 7 } },
  ...{ at: { seconds: 10, nanos: 5 }, right: { sku: 'd' }, maybe: 0 },
}

function encode(name: string, message: object): Buffer {
  const root = new protobuf.Root()
  root.addJSON(protobuf.common.get('google/protobuf/timestamp.proto')?.nested ?? {})
  protobuf.parse(money.text, root, { keepCase: true })
  protobuf.parse(schema, root, { keepCase: true })
  const type = root.lookupType(name)
  return Buffer.from(type.encode(type.fromObject(message)).finish())
}

describe('a message of a Protobuf schema', () => {
  const messages = new ProtoMessages(schema, [money])

  test('is what another library has written', () => {
    const found = readProto(messages.find([0]), encode('shop.orders.Order', value))
    assert.deepEqual(found, { ...value, raw: 'AP8=', color: 'GREEN', colors: { 5: 'GREEN' } })
  })

  test('is found by its indexes, also inside another', () => {
    assert.equal(messages.find([1]).fullName, '.shop.orders.Second')
    assert.equal(messages.find([0, 1]).fullName, '.shop.orders.Order.Empty')
    assert.throws(() => messages.find([2]), /no message with the index 2/)
    assert.throws(() => messages.find([0, 9]), /no message with the index 0, 9/)
  })

  test('shows a field that the schema does not have under its number', () => {
    assert.deepEqual(readProto(messages.find([0, 1]), encode('shop.orders.Second', { id: 'x' })), { 1: 'eA==' })
  })

  test('may have numbers in a list one by one, or packed', () => {
    const single = Buffer.from([0x70, 1, 0x70, 2])
    assert.deepEqual(readProto(messages.find([0]), single), { packed: [1, 2] })
  })

  test('that is in a file of the same package as one that it imports has the right index', () => {
    const other = { name: 'first.proto', text: 'syntax = "proto3"; package p; message Zero { int32 a = 1; }' }
    const file = 'syntax = "proto3"; package p; import "first.proto"; message One { Zero zero = 1; }'
    assert.equal(new ProtoMessages(file, [other]).find([0]).fullName, '.p.One')
  })

  const hostile: [string, Buffer, RegExp][] = [
    ['ends in the middle', Buffer.from([0x52, 10, 65]), /end too early/],
    ['claims a length beyond all memory', Buffer.from('52ffffffffffffffff7f', 'hex'), /end too early/],
    ['has a wire type that does not exist', Buffer.from([0x0f]), /wire type 7/],
    ['has another wire type than the schema', Buffer.from([0x50, 1]), /field text of type string has the wire type 0/],
    ['has a field with the number 0', Buffer.from([0x02, 0]), /number 0/],
    ['ends a group that did not begin', Buffer.from([0x0c]), /did not begin/],
    ['is nested without an end', Buffer.alloc(1000, 0xfb), /./],
  ]
  for (const [what, bytes, message] of hostile) {
    test(`is refused if it ${what}`, () => {
      assert.throws(() => readProto(messages.find([0]), bytes), message)
    })
  }

  test('may have a map of many entries', () => {
    const maps = new ProtoMessages('syntax = "proto3"; message M { map<int32, double> m = 1; }', [])
    const entry = (key: number) => [0x0a, 12, 0x08, 0x80 | (key & 0x7f), key >> 7, 0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f]
    const bytes = Buffer.from(Array.from({ length: 16_000 }, (_, at) => entry(at)).flat())
    const { m } = readProto(maps.find([0]), bytes) as { m: object }
    assert.equal(Object.keys(m).length, 16_000)
    assert.deepEqual(Object.values(m).slice(0, 2), ['NaN', 'NaN'])
  })

  test('ends a group with its number, and nowhere else', () => {
    const groups = new ProtoMessages(
      'syntax = "proto3"; message M { N n = 1; } message N { int32 a = 1; int32 b = 2; }',
      [],
    )
    assert.throws(() => readProto(groups.find([0]), Buffer.from('0a0508010c1002', 'hex')), /group 1 ends and did not/)
    assert.throws(() => readProto(groups.find([0]), Buffer.from('4b0801', 'hex')), /group 9 does not end/)
    assert.deepEqual(readProto(groups.find([0]), Buffer.from('4b08014c', 'hex')), { 9: { 1: 1 } })
  })

  test('nested deeper than any stack is refused', () => {
    const deep = new ProtoMessages('syntax = "proto3"; message Node { Node next = 1; }', [])
    let bytes = Buffer.alloc(0)
    for (let i = 0; i < 100; i++)
      bytes = Buffer.concat([
        Buffer.from([
          0x0a,
          (bytes.length & 0x7f) | (bytes.length > 127 ? 0x80 : 0),
          ...(bytes.length > 127 ? [bytes.length >> 7] : []),
        ]),
        bytes,
      ])
    assert.throws(() => readProto(deep.find([0]), bytes), /nested more than 64 levels/)
  })

  test('names of a schema do not reach into the program', () => {
    const odd = new ProtoMessages('syntax = "proto3"; message M { string __proto__ = 1; string constructor = 2; }', [])
    const found = readProto(odd.find([0]), Buffer.from([0x0a, 1, 65, 0x12, 1, 66]))
    // The library leaves a field of the first name out, so that it is shown like one that is not in the schema.
    assert.deepEqual(Object.entries(found), [
      ['1', 'QQ=='],
      ['constructor', 'B'],
    ])
    assert.equal(Object.getPrototypeOf(found), Object.prototype)
  })
})

describe('a schema may import files that no registry holds', () => {
  test('those of Confluent, with their options', () => {
    const text = `syntax = "proto3"; import "confluent/meta.proto"; import "confluent/type/decimal.proto";
      message Price { option (confluent.message_meta).doc = "a price";
        confluent.type.Decimal sum = 1 [(confluent.field_meta) = { doc: "total", params: [{ key: "precision", value: "9" }] }]; }`
    const bytes = Buffer.from([0x0a, 5, 0x0a, 1, 0x2a, 0x18, 2])
    assert.deepEqual(readProto(new ProtoMessages(text, []).find([0]), bytes), { sum: { value: 'Kg==', scale: 2 } })
  })

  test('and options of any form are skipped', () => {
    const text = `syntax = "proto3"; /* [ */ option (a.b) = { list: [{ x: "];}" }] }; // option (x
      enum E { ZERO = 0 [(c) = '[' ]; ONE = 1; } message A { repeated int32 n = 1 [packed = true, (d).e = [1, 2]];
      option (f) = "}"; reserved 5, 6; E e = 2; }`
    const found = readProto(new ProtoMessages(text, []).find([0]), Buffer.from([0x0a, 2, 1, 2, 0x10, 1]))
    assert.deepEqual(found, { n: [1, 2], e: 'ONE' })
  })

  for (const part of ['/*', '"\\"', "'\\'", 'option (', '[', '{', '(']) {
    test(`and a text of ${part} alone is read once`, () => {
      const text = `syntax = "proto3"; message A { int32 a = 1 [(b) = 1]; } ${part.repeat(300_000)}`
      // Read again for each, it would take minutes.
      assert.throws(() => new ProtoMessages(text, []))
    })
  }

  test('extensions of options, and the common types of Google', () => {
    const text = `syntax = "proto3"; import "google/protobuf/descriptor.proto"; import "google/type/date.proto";
      import "google/type/dayofweek.proto"; extend google.protobuf.FieldOptions { string mask = 50001; }
      message Visit { google.type.Date on = 1 [(mask) = "no"]; google.type.DayOfWeek day = 2; }`
    const bytes = Buffer.from([0x0a, 7, 0x08, 0xea, 0x0f, 0x10, 11, 0x18, 17, 0x10, 2])
    const visit = { on: { year: 2026, month: 11, day: 17 }, day: 'TUESDAY' }
    assert.deepEqual(readProto(new ProtoMessages(text, []).find([0]), bytes), visit)
  })

  test('a file of the registry counts before a known one of the same name', () => {
    const own = {
      name: 'google/type/date.proto',
      text: 'syntax = "proto3"; package google.type; message Date { string iso = 1; }',
    }
    const text = 'syntax = "proto3"; import "google/type/date.proto"; message A { google.type.Date at = 1; }'
    const bytes = Buffer.from([0x0a, 3, 0x0a, 1, 0x78])
    assert.deepEqual(readProto(new ProtoMessages(text, [own]).find([0]), bytes), { at: { iso: 'x' } })
  })

  for (const name of [
    'calendar_period',
    'color',
    'datetime',
    'decimal',
    'expr',
    'fraction',
    'interval',
    'latlng',
    'localized_text',
    'money',
    'month',
    'phone_number',
    'postal_address',
    'quaternion',
    'timeofday',
  ]) {
    test(`google/type/${name}.proto is known`, () => {
      const text = `syntax = "proto3"; import "google/type/${name}.proto"; message A { int32 id = 1; }`
      assert.deepEqual(readProto(new ProtoMessages(text, []).find([0]), Buffer.from([8, 1])), { id: 1 })
    })
  }
})
