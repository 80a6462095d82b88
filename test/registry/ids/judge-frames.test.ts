import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type JudgeFacts, judgePart, judgeSamples, type PartSample } from '../../../src/registry/ids/judge-frames.ts'
import { indexSchemas } from '../../../src/registry/ids/known-schemas.ts'
import { framed, long, schemaVersion } from './sample-schemas.ts'

const schemas = indexSchemas([
  schemaVersion('orders-value', 5),
  schemaVersion('orders-key', 6),
  schemaVersion('shop.Order', 7),
  schemaVersion('payments-value', 101_327),
  schemaVersion('orders-value', 8, { schemaType: 'PROTOBUF', schema: 'message A {}' }),
  schemaVersion('orders-value', 9, { schemaType: 'JSON', schema: '{}' }),
  schemaVersion(':.eu:orders-value', 5),
])
const mapped = new Set([5, 6, 7, 8, 9, 101_327])
const facts: JudgeFacts = {
  topic: 'orders',
  part: 'value',
  context: '.',
  schemas,
  isMapped: id => mapped.has(id),
  isOtherGuid: () => false,
  isUnknownGuid: () => false,
  unknownIds: 'fail',
  isOnlyChecked: false,
  isNamed: false,
}

const samplesOf = (all: (Buffer | null)[]): PartSample[] =>
  all.map((bytes, i) => ({ bytes, offset: BigInt(i), partition: 2 }))
const judge = (all: (Buffer | null)[], changes: Partial<JudgeFacts> = {}) =>
  judgePart(samplesOf(all), { ...facts, ...changes })
const many = (count: number, make: (i: number) => Buffer) => Array.from({ length: count }, (_, i) => make(i))

describe('a part of a topic', () => {
  test('is rewritten where all of it is framed with ids whose subjects belong to it', () => {
    assert.deepEqual(judge([framed(5), framed(7, 'x'), framed(5, ''), framed(5)]), { kind: 'rewrite' })
    assert.deepEqual(judge([framed(6)], { part: 'key' }), { kind: 'rewrite' })
  })

  test('is rewritten between tombstones, empty values, and one in a hundred that somebody typed in', () => {
    assert.equal(judge([framed(5), null, Buffer.alloc(0), framed(5)]).kind, 'rewrite')
    assert.equal(judge([...many(99, () => framed(5)), Buffer.from('test')]).kind, 'rewrite')
  })

  test('is left where nothing is framed, or there is nothing', () => {
    const topic = 'plain'
    assert.deepEqual(judge([]), { kind: 'leave', areLongs: false })
    assert.deepEqual(judge([null, null], { topic }), { kind: 'leave', areLongs: false })
    const texts = [Buffer.from('{"a":1}'), Buffer.from('plain'), Buffer.alloc(4)]
    assert.deepEqual(judge(texts, { topic }), { kind: 'leave', areLongs: false })
    assert.deepEqual(judge(many(50, i => long(BigInt(i)))), { kind: 'leave', areLongs: true })
  })

  test('is looked through where it has a subject, though tombstones or other values hide the frames', () => {
    assert.deepEqual(judge([null, null]), { kind: 'search' })
    assert.deepEqual(judge([Buffer.from('{"a":1}'), Buffer.alloc(4)]), { kind: 'search' })
    assert.deepEqual(judge([framed(44), framed(44)], { unknownIds: 'pass' }), { kind: 'search' })
    const byRecord = indexSchemas([
      schemaVersion('clicks-shop.Click', 5, { schema: '{"type":"record","name":"shop.Click","fields":[]}' }),
    ])
    assert.deepEqual(judge([null], { topic: 'clicks', schemas: byRecord }), { kind: 'search' })
    assert.deepEqual(judge([null], { topic: 'clicks', schemas: byRecord, part: 'key' }), {
      kind: 'leave',
      areLongs: false,
    })
    assert.deepEqual(
      judge([null], { part: 'key', context: '.eu' }),
      { kind: 'leave', areLongs: false },
      'of its own context',
    )
  })

  test('is left where its numbers of eight bytes look like ids that nobody has', () => {
    assert.deepEqual(judge(many(50, i => long(1_790_000_000_000n + BigInt(i)))), { kind: 'leave', areLongs: true })
  })

  test('is left where GUIDs name the schemas, which are the same everywhere', () => {
    const guid = Buffer.concat([Buffer.from([1]), Buffer.alloc(16, 7), Buffer.from('payload')])
    assert.deepEqual(judge([guid, guid]), { kind: 'leave', areLongs: false })
    assert.deepEqual(judge([guid, framed(5)]), { kind: 'rewrite' })
    const isOtherGuid = (one: string) => one === '07'.repeat(16)
    assert.deepEqual(judge([guid, guid], { isOtherGuid }), { kind: 'rewrite' }, 'unless it is another on the target')
  })

  test('is unclear where times look like the id of another topic', () => {
    const verdict = judge(many(50, i => long(1_700_000_000_000n + BigInt(i))))
    assert.equal(verdict.kind, 'unclear')
    assert.match(
      verdict.kind === 'unclear' ? verdict.why : '',
      /^50 values were checked, of which 50 begin like schema ID 101327 of the subject payments-value, which does not/,
    )
  })

  test('is unclear where a single one belongs to another topic', () => {
    assert.equal(judge([...many(500, () => framed(5)), framed(101_327)]).kind, 'unclear')
  })

  test('is unclear where numbers of eight bytes look like an id that is bound to no topic', () => {
    const verdict = judge(many(20, i => long((7n << 24n) + BigInt(i))))
    assert.match(verdict.kind === 'unclear' ? verdict.why : '', /all of them 8 bytes long, as numbers are/)
    assert.equal(judge(many(20, i => long((5n << 24n) + BigInt(i)))).kind, 'rewrite', 'its own subject says enough')
    assert.equal(judge([framed(7, 'abc'), framed(7, 'abcd')]).kind, 'rewrite', 'no number is longer')
  })

  test('is unclear where only some of it is framed', () => {
    const verdict = judge([...many(90, () => framed(5)), ...many(10, () => Buffer.from('{"plain":true}'))])
    assert.deepEqual(verdict, {
      kind: 'unclear',
      why: '100 values were checked, of which only 90 begin with a schema ID',
    })
  })

  test('is unclear where the payload is none of the schema', () => {
    assert.equal(judge([framed(8, Buffer.from([0, 8, 1]))]).kind, 'rewrite')
    assert.equal(judge([framed(9, '{}')]).kind, 'rewrite')
    const odd = judge([framed(9, '\x07\x08')])
    assert.match(odd.kind === 'unclear' ? odd.why : '', /continue like none of its records/)
    assert.equal(judge([framed(8, Buffer.from([4, 0]))]).kind, 'unclear')
  })

  test('is unclear where an id is mapped by hand and the backup has no subject for it', () => {
    const verdict = judge([framed(33)], { isMapped: () => true })
    assert.match(verdict.kind === 'unclear' ? verdict.why : '', /schema ID 33, of which the backup knows no subject/)
  })

  test('has ids in its own context only', () => {
    assert.equal(judge([framed(7)], { context: '.eu' }).kind, 'unclear')
    assert.equal(judge([framed(5)], { context: '.eu' }).kind, 'rewrite')
  })

  test('holds an id that the target does not have, which ends the restore or is let pass', () => {
    const unknown = { kind: 'unknown', id: 44, partition: 2, offset: 1n, isCertain: false }
    assert.deepEqual(judge([framed(5), framed(44)]), unknown)
    assert.deepEqual(judge([framed(44), framed(44)]), { ...unknown, offset: 0n })
    assert.deepEqual(judge([framed(5), framed(44)], { unknownIds: 'pass' }), { kind: 'rewrite' })
    assert.deepEqual(judge([framed(44), framed(44)], { unknownIds: 'pass', topic: 'plain' }), {
      kind: 'leave',
      areLongs: false,
    })
  })

  test('is left where a few of many happen to begin like an id that nobody has', () => {
    assert.deepEqual(judge([...many(20, () => Buffer.from([7, 7])), framed(4_000_000)]), {
      kind: 'leave',
      areLongs: false,
    })
  })
})

describe('headers that name the schema', () => {
  const sample = (header: Buffer | null, bytes: Buffer | null = framed(101_327)): PartSample => ({
    bytes,
    header,
    offset: 0n,
    partition: 0,
  })
  const guid = Buffer.alloc(17, 1)

  test('say it alone: what the payload begins with does not matter, nor whose subject it is', () => {
    assert.deepEqual(judgePart([sample(framed(5, '')), sample(framed(7, ''))], facts), { kind: 'rewrite' })
    assert.deepEqual(judgePart([sample(framed(101_327, ''))], facts), { kind: 'rewrite' })
    assert.deepEqual(judgePart([sample(guid), sample(guid)], facts), { kind: 'leave', areLongs: false })
    assert.deepEqual(judgePart([sample(null)], { ...facts, topic: 'plain' }), { kind: 'leave', areLongs: false })
  })

  test('may name an id that the target does not have', () => {
    assert.equal(judgePart([sample(framed(44, ''))], facts).kind, 'unknown')
    const plain = samplesOf(many(50, () => Buffer.from('text')))
    assert.equal(judgePart([...plain, sample(framed(44, ''))], facts).kind, 'unknown', 'among records without one')
  })

  test('may name a GUID that the target does not have', () => {
    const isUnknownGuid = (guid: string, isInHeader: boolean) => isInHeader && guid === '01'.repeat(16)
    const plain = samplesOf(many(50, () => Buffer.from('text')))
    const found = judgePart([...plain, sample(guid)], { ...facts, isUnknownGuid })
    assert.deepEqual(found, { kind: 'unknown', id: '01'.repeat(16), partition: 0, offset: 0n, isCertain: true })
    const passed = judgePart([sample(guid)], { ...facts, topic: 'plain', isUnknownGuid, unknownIds: 'pass' })
    assert.deepEqual(passed, { kind: 'leave', areLongs: false })
    assert.deepEqual(
      judge([guid], { topic: 'plain', isUnknownGuid }),
      { kind: 'leave', areLongs: false },
      'before a payload',
    )
  })
})

describe('a part that is only looked at', () => {
  const isOnlyChecked = true

  test('ends at an id that nobody has, and is not asked what else it may be', () => {
    const unknown = { kind: 'unknown', id: 44, partition: 2, offset: 1n, isCertain: false }
    for (const known of [framed(5), framed(7, 'x'), framed(101_327, 'foreign'), framed(44)]) {
      const verdict = judge([known, framed(44)], { isOnlyChecked })
      assert.deepEqual({ ...verdict, offset: 1n }, unknown)
    }
    assert.deepEqual(judge([framed(101_327, 'foreign'), Buffer.from('text')], { isOnlyChecked }), { kind: 'rewrite' })
  })

  test('does not take numbers for ids', () => {
    const seconds = indexSchemas([schemaVersion('payments-value', 101)])
    // 1,700,000,000 s begins like 00 00 00 00 65, which is 101; a day later it is 102.
    const times = many(50, i => long(1_700_000_000n + BigInt(i) * 1_000_000n))
    const isMapped = (id: number) => id === 101
    assert.deepEqual(judge(times, { isOnlyChecked, schemas: seconds, isMapped }), { kind: 'leave', areLongs: true })
  })

  test('counts what is unknown where that may pass, and nothing where there are no frames', () => {
    const pass = { ...facts, isOnlyChecked, unknownIds: 'pass' as const }
    const some = samplesOf([framed(5), framed(44), framed(45), null])
    const { checked, unknown } = judgeSamples(some, pass)
    assert.deepEqual([checked, unknown], [4, 2])
    const texts = samplesOf([...many(5, () => Buffer.from('text')), framed(44)])
    assert.equal(judgeSamples(texts, { ...pass, topic: 'plain' }).unknown, 0)
  })

  test('is trusted where the job says that it carries ids', () => {
    const named = { isOnlyChecked, isNamed: true }
    assert.equal(judge([Buffer.from('text'), Buffer.from('text'), framed(44)], named).kind, 'unknown')
    assert.equal(judge([framed(101_327, 'foreign')], { isNamed: true }).kind, 'rewrite')
  })
})
