import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ProtoMessages } from '../../src/inspect/proto-messages.ts'
import { readProto } from '../../src/inspect/read-proto.ts'

/** For each number from 0. Fields may not have the numbers from 19,000 on. */
const each = (count: number, part: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => part(at < 18_999 ? at : at + 1_001)).join('\n')
const fields = (count: number, type: string) => each(count, at => `${type} f${at} = ${at + 1};`)

/** Texts of n parts, of which each was once compared with all others. */
const shapes: Record<string, (n: number) => string> = {
  'fields of a message': n => `message A { ${fields(n, 'string')} }`,
  'optional fields': n => `message A { ${fields(n, 'optional string')} }`,
  'fields of a oneof': n => `message A { oneof o { ${fields(n, 'A')} } }`,
  maps: n => `message A { ${fields(n, 'map<string, A>')} }`,
  'reserved numbers': n => `message A { reserved 500000${each(n, at => `, ${500_001 + at}`)}; ${fields(n, 'string')} }`,
  'reserved numbers of an enum': n => `enum E { reserved 500000${each(n, at => `, ${500_001 + at}`)}; Z = 0;
    ${each(n, at => `V${at} = ${at + 1};`)} }`,
  'messages inside others': n => `message A { ${each(n, at => `message V${at} { V${at} v = 1; }`)} }`,
  'messages of a package': n => `package a.b.c; ${each(n, at => `message V${at} { c.V${at} v = 1; }`)}`,
  extensions: n => `extend A { ${fields(n, 'A')} } message A {}`,
  options: n => each(n, at => `option a${at}.b = 1;`),
  'options of a field': n => `message A { int32 a = 1 [b.c = 1 ${each(n, at => `, a${at}.b = 1`)}]; }`,
  'options of features': n => `${each(n, at => `option features.a${at} = 1; message A${at} {}`)}`,
  'values of an option': n => `option a = { ${each(n, () => 'a: 1')} };`,
  'spaces and comments': n => `message A { ${each(n, () => '/** */  // [\n /// x')} }`,
}

describe('the time to read a schema grows with its size only', () => {
  const n = 500
  const texts = Object.entries(shapes).map(([name, text]) => [name, text(n), text(16 * n)] as const)
  const unclosed = (quotes: number) => `import "${'\\"'.repeat(quotes)}; message A {}`
  for (const [name, small, large] of [...texts, ['escaped quotes', unclosed(5_000), unclosed(80_000)] as const]) {
    test(`of many ${name}`, () => {
      const ratio = growth(`syntax = "proto3"; ${small}`, `syntax = "proto3"; ${large}`)
      // A comparison of each part with all others takes 256 times as long.
      assert.ok(ratio < 64, `16 times the size takes ${ratio.toFixed(1)} times as long`)
    })
  }
})

/** Of the fastest of a few times, because other work on the machine can only make them slower. Less than a millisecond is not measured. */
function growth(small: string, large: string): number {
  const times = Array.from({ length: 5 }, () => [timeOf(small), timeOf(large)] as const)
  return Math.min(...times.map(([, time]) => time)) / Math.max(1, Math.min(...times.map(([time]) => time)))
}

/** Milliseconds of CPU time: those in which the process waits for a core do not count. */
function timeOf(text: string): number {
  const before = process.cpuUsage()
  try {
    new ProtoMessages(text, [])
  } catch {
    // A refusal takes time, too.
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

describe('a schema without what its messages do not need', () => {
  const decode = (text: string, hex: string) =>
    readProto(new ProtoMessages(`syntax = "proto3"; ${text}`, []).find([0]), Buffer.from(hex, 'hex'))

  test('keeps the aliases of an enum', () => {
    const text = 'message M { E e = 1; } enum E { option allow_alias = true; A = 0; B = 1; C = 1; }'
    assert.deepEqual(decode(text, '0801'), { e: 'B' })
  })

  test('keeps fields, types and methods that are named like statements', () => {
    const text = `message M { string option = 1; string reserved = 2; option.A extensions = 3; repeated option import = 4; }
      message option { message A { int32 a = 1; } } service S { rpc option(M) returns (M) { option (x) = { a < b: "}" > }; } }`
    const is = { option: 'x', reserved: 'y', extensions: { a: 1 }, import: [{}] }
    assert.deepEqual(decode(text, '0a0178120179' + '1a020801' + '2200'), is)
  })

  test('keeps values of enums, and fields of types, that are named like statements', () => {
    const kinds = 'message M { Kind kind = 1; } enum Kind { fields = 0; extensions = 1; }'
    assert.deepEqual(decode(kinds, '0801'), { kind: 'extensions' })
    for (const type of ['reserved', 'extensions']) {
      const text = `message M { oneof o { ${type} r = 1; } } message ${type} { string x = 1; }`
      assert.deepEqual(decode(text, '0a030a0141'), { r: { x: 'A' } })
    }
  })

  test('keeps the option of an enum that has two names for a number, with any comments in it', () => {
    for (const option of [
      'option allow_alias=true;',
      'option /* x */ allow_alias = true;',
      'option // x\n allow_alias = true // y\n ;',
    ]) {
      const text = `message M { E e = 1; } enum E { ${option} Z = 0; A = 1; B = 1; }`
      assert.match(JSON.stringify(decode(text, '0801')), /"e":"[AB]"/)
    }
    assert.throws(() => decode('message M { E e = 1; } enum E { option a = true; Z = 0; B = 0; }', '0800'), /duplicate/)
  })

  test('has no comments and options, wherever they are', () => {
    const text = `// option
      option /* ; */ java_package = "a;b" /* "; */; /* [ */ message M { /**/option (a) = 1; /*/ } */ int32/**/a = 1 // [
      ; reserved 2 to max, "b";option deprecated = true;extensions 4 [verification = { a: ";" }]; oneof o { option x = 1; B b = 3; } }
      ; message B { option x.y = 1; int32 c = 1 [json_name = '];"', (d) = { e: [1, 2] }]; }`
    assert.deepEqual(decode(text.replace('; message B', 'message B'), '08011a020802'), { a: 1, b: { c: 2 } })
  })

  for (const [what, text, reason] of [
    ['a string', 'import "a', /string that does not end/],
    ['an option', 'message M { int32 a = 1; } option a = { b: 1;', /option that does not end/],
    [
      'an option before the end of its message',
      'message M { option a = 1 } message N { int32 b = 1; }',
      /does not end/,
    ],
    ['a list of options', 'message M { int32 a = 1 [b = 1; } message N { int32 a = 1 [b = 1]; }', /does not end/],
  ] as const) {
    test(`is refused if ${what} does not end`, () => {
      assert.throws(() => decode(text, ''), reason)
    })
  }

  test('is refused if it has a number twice', () => {
    assert.throws(() => decode('message M { int32 a = 1; int32 b = 1; }', ''), /duplicate id 1 in Type \.M/)
    assert.throws(() => decode('message M { oneof o { int32 a = 1; } map<int32, M> b = 1; }', ''), /duplicate id 1/)
  })

  test('is refused if names of packages and messages together are very long', () => {
    const text = (length: number) => `package ${'p'.repeat(500)}; message ${'M'.repeat(length)} { int32 a = 1; }`
    assert.deepEqual(decode(text(498), '0801'), { a: 1 })
    assert.throws(() => decode(text(499), '0801'), /a name of more than 1000 characters/)
  })

  test('names the line of an error', () => {
    assert.throws(() => decode('/*\n*/ option a = {\n};\nmessage M { int32 a = x; }', ''), /illegal id 'x' \(line 4\)/)
  })
})
