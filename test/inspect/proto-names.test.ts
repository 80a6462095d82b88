import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ProtoFile, ProtoMessages } from '../../src/inspect/proto-messages.ts'
import { readProto } from '../../src/inspect/read-proto.ts'

const proto2 = (text: string) => `syntax = "proto2"; ${text}`
const proto3 = (text: string) => `syntax = "proto3"; ${text}`
const file = (name: string, text: string): ProtoFile => ({ name, text: proto3(text) })

interface Case {
  name: string
  text: string
  files?: ProtoFile[]
  /** The message, and its bytes. */
  at?: number[]
  hex: string
  is: object
}

/** Protoc takes the innermost scope that has the first part of a name, and follows the other parts exactly. */
const cases: Case[] = [
  {
    name: 'a nested enum hides one of the file without a package',
    text: proto3(
      'enum Status { NONE = 0; OPEN = 1; } message Order { enum Status { UNKNOWN = 0; PAID = 1; } Status status = 1; }',
    ),
    hex: '0801',
    is: { status: 'PAID' },
  },
  {
    name: 'a message of the package hides one that has none',
    text: proto3('package a; import "b.proto"; message M { Foo f = 1; } message Foo { string x = 1; int32 y = 2; }'),
    files: [file('b.proto', 'message Foo { bytes x = 1; sint32 z = 2; }')],
    hex: '0a050a01411003',
    is: { f: { x: 'A', y: 3 } },
  },
  {
    name: 'a package inside the own one hides an outer one, also for values of maps, in a oneof, and of optional fields',
    text: proto3(`package orders; import "b.proto"; import "c.proto"; message M { common.Money f = 1; map<string, common.Money> g = 2;
      oneof o { common.Money h = 3; } optional common.Money i = 4; repeated common.Money j = 5; }`),
    files: [
      file('b.proto', 'package common; message Money { sint32 units = 1; }'),
      file('c.proto', 'package orders.common; message Money { int32 cents = 1; }'),
    ],
    hex: '0a02080312070a016b120208031a02080322020803' + '2a020803',
    is: { f: { cents: 3 }, g: { k: { cents: 3 } }, h: { cents: 3 }, i: { cents: 3 }, j: [{ cents: 3 }] },
  },
  {
    name: 'a type of an outer package is not one inside another message',
    text: proto3(`package a.b; import "a.proto"; message M { Status s = 1; a.Status t = 2; }
      message Other { enum Status { ZERO = 0; WRONG = 1; } }`),
    files: [file('a.proto', 'package a; enum Status { NONE = 0; RIGHT = 1; }')],
    hex: '08011001',
    is: { s: 'RIGHT', t: 'RIGHT' },
  },
  {
    name: 'an absolute name begins at the root',
    text: proto3('package a; import "b.proto"; message M { .common.Money f = 1; .common . Money g = 2; }'),
    files: [
      file('b.proto', 'package common; message Money { int32 right = 1; }'),
      file('c.proto', 'package a.common; message Money { int32 wrong = 1; }'),
    ],
    hex: '0a02080112020801',
    is: { f: { right: 1 }, g: { right: 1 } },
  },
  {
    name: 'a package of a file that is not imported hides nothing',
    text: proto3('package orders; import "b.proto"; message M { common.Money f = 1; }'),
    files: [
      file('b.proto', 'package common; import "c.proto"; message Money { int32 right = 1; }'),
      file('c.proto', 'package orders.common; message Money { int32 wrong = 1; }'),
    ],
    hex: '0a020801',
    is: { f: { right: 1 } },
  },
  {
    name: 'a package of a file that is imported publicly hides an outer one',
    text: proto3('package orders; import "b.proto"; message M { common.Money f = 1; }'),
    files: [
      file(
        'b.proto',
        `package common; // import public "d.proto";
        import public 'c.proto'; message Money { int32 wrong = 1; }`,
      ),
      file('c.proto', 'package orders.common; message Money { int32 right = 1; }'),
    ],
    hex: '0a020801',
    is: { f: { right: 1 } },
  },
  {
    name: 'a commented public import is none',
    text: proto3('package orders; import "b.proto"; message M { common.Money f = 1; }'),
    files: [
      file(
        'b.proto',
        `package common; import "c.proto"; /* import public "c.proto"; */ message Money { int32 right = 1; }`,
      ),
      file('c.proto', 'package orders.common; message Money { int32 wrong = 1; }'),
    ],
    hex: '0a020801',
    is: { f: { right: 1 } },
  },
  {
    name: 'a type of a file that only an imported one imports is found',
    text: proto3('package a; import "b.proto"; message M { c.Foo f = 1; }'),
    files: [
      file('b.proto', 'package b; import "c.proto";'),
      file('c.proto', 'package c; message Foo { int32 x = 1; }'),
    ],
    hex: '0a020801',
    is: { f: { x: 1 } },
  },
  {
    name: 'a field or an oneof of the same name hides no type',
    text: proto3(
      'message Foo { int32 x = 1; } message M { Foo Foo = 1; oneof Bar { Bar y = 2; } } message Bar { int32 z = 1; }',
    ),
    at: [1],
    hex: '0a02080112020801',
    is: { Foo: { x: 1 }, y: { z: 1 } },
  },
  {
    name: 'an inner message finds types of those around it',
    text: proto3(`package p; enum E { ZERO = 0; WRONG = 1; } message M { enum E { NONE = 0; RIGHT = 1; }
      message N { message O { E e = 1; M.E f = 2; N.O g = 3; } } }`),
    at: [0, 0, 0],
    hex: '080110011a020801',
    is: { e: 'RIGHT', f: 'RIGHT', g: { e: 'RIGHT' } },
  },
  {
    name: 'a group is the one inside the message',
    text: proto2(`message Line { optional sint32 wrong = 1; }
      message M { repeated group Line = 1 { optional int32 right = 2; optional Line more = 3; } }`),
    at: [1],
    hex: '0b10011a0210020c',
    is: { line: [{ right: 1, more: { right: 2 } }] },
  },
  {
    name: 'extensions extend the message, and have the type, that their scope names',
    text: proto2(`package a; import "b.proto"; message Base { extensions 100 to 199; } message V { optional int32 right = 1; }
      extend Base { optional V v = 100; } message Holder { message V { optional int32 inner = 1; } extend Base { repeated V w = 101; } }`),
    files: [
      {
        name: 'b.proto',
        text: proto2('message Base { extensions 100 to 199; } message V { optional sint32 wrong = 1; }'),
      },
    ],
    hex: 'a20602080' + '1aa06020802',
    is: { '.a.v': { right: 1 }, '.a.Holder.w': [{ inner: 2 }] },
  },
  {
    name: 'a message may be named like a property of every object',
    text: proto3(
      'message M { repeated constructor a = 1; valueOf b = 2; } message constructor { int32 x = 1; } message valueOf {}',
    ),
    hex: '0a0208011200',
    is: { a: [{ x: 1 }], b: {} },
  },
  {
    name: 'well-known types are found by the part of their name that is outside of the package',
    text: proto3(`package google.api; import "google/protobuf/struct.proto"; import "google/type/color.proto";
      message M { protobuf.Value v = 1; google.protobuf.ListValue l = 2; type.Color c = 3; }`),
    hex: '0a031a016112020a001a0c0d0000803f22050d0000803f',
    is: { v: { stringValue: 'a' }, l: { values: [{}] }, c: { red: 1, alpha: { value: 1 } } },
  },
]

describe('the name of a Protobuf type means what it means to protoc', () => {
  for (const { name, text, files = [], at = [0], hex, is } of cases) {
    test(name, () => {
      assert.deepEqual(readProto(new ProtoMessages(text, files).find(at), Buffer.from(hex, 'hex')), is)
    })
  }
})

describe('a name is refused', () => {
  const refused: [string, string, ProtoFile[], RegExp][] = [
    [
      'of a type inside another message',
      'message A { message T {} } message B { T t = 1; }',
      [],
      /no such Type or Enum 'T' in Type \.B/,
    ],
    [
      'whose first part has another scope inside',
      'message Bar { message Baz {} } message Foo { message Bar {} Bar.Baz baz = 1; }',
      [],
      /no such Type or Enum 'Bar\.Baz' in Type \.Foo/,
    ],
    ['of a package', 'package a.b; message M { b f = 1; }', [], /no such Type or Enum 'b'/],
    ['of nothing', 'message M { map<int32, Foo> f = 1; }', [], /no such Type or Enum 'Foo' in Type \.M/],
    [
      'of nothing at the root',
      'package a; message Foo {} message M { .Foo f = 1; }',
      [],
      /no such Type or Enum '\.Foo'/,
    ],
    ['of nothing that is extended', 'extend Foo { int32 a = 1; }', [], /unresolvable extensions: 'extend Foo'/],
    ['that two files define', 'message M {}', [file('b.proto', 'message M {}')], /duplicate name 'M'/],
    [
      'that is a package and a message',
      'package a; message b {}',
      [file('b.proto', 'package a.b; message M {}')],
      /duplicate name 'b'/,
    ],
    [
      'of an extension with the number of another one',
      'import "google/protobuf/descriptor.proto"; extend google.protobuf.FieldOptions { string a = 50001; int32 b = 50001; }',
      [],
      /duplicate id 50001 in Type \.google\.protobuf\.FieldOptions/,
    ],
  ]
  for (const [what, text, files, reason] of refused) {
    test(what, () => {
      assert.throws(() => new ProtoMessages(proto3(text), files), reason)
    })
  }
})
