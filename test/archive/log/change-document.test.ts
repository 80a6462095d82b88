import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Change, emptyState, noChange } from '../../../src/archive/log/change.ts'
import { changeSchema, decodeChange, encodeChange } from '../../../src/archive/log/change-document.ts'
import { composeChanges } from '../../../src/archive/log/compose-changes.ts'
import { withoutLists } from '../../../src/archive/log/document.ts'
import { formatJson, parseJson } from '../../../src/lib/json.ts'
import { type FullState, randomFrom, randomStep } from './random-state.ts'

function throughText(change: Change): Change {
  return decodeChange(changeSchema.parse(parseJson(formatJson(encodeChange(change)))), 'b/k')
}

test('a change is the same after it was written and read', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = randomFrom(seed)
    let state: FullState = { ...emptyState, segments: new Map() }
    let composed = noChange
    for (let i = 0; i < 8; i++) {
      const { after, change } = randomStep(random, state)
      assert.deepEqual(withFrames(throughText(change)), withFrames(change))
      composed = composeChanges(composed, change)
      state = after
    }
    assert.deepEqual(withFrames(throughText(composed)), withFrames(composed))
  }
})

test('offsets beyond 2^53 keep all their digits', () => {
  const big = 2n ** 62n + 1n
  const row = { offsets: [0n, big, big, -big], sums: [0, 0, 0, 0, 0, 0], set: { read_to: big }, unset: [] }
  const change: Change = { ...noChange, lists: new Map([[`${'a'.repeat(32)}/0`, { isNew: false, row }]]) }
  assert.deepEqual(throughText(change), change)
})

test('what a row sets is refused where it has another type, also of fields that nearly every row sets', () => {
  const batch = { base_offset: 7, records: 1, crc: 2 }
  const read = (set: unknown) =>
    decodeChange(changeSchema.parse({ lists: [['a/0', 0, [0, 0, 0, 0], [0, 0, 0, 0, 0, 0], set]] }), 'b/k')
  const all = { last_epoch: 3, first_timestamp: null, last_timestamp: 5, last_batch: batch }
  assert.deepEqual(read(all).lists.get('a/0')?.row.set, {
    ...all,
    last_timestamp: 5n,
    last_batch: { ...batch, base_offset: 7n },
  })
  const wrong: [set: unknown, field: RegExp][] = [
    [{ last_epoch: '3' }, /last_epoch of a\/0/],
    [{ last_epoch: 1.5 }, /last_epoch of a\/0/],
    [{ last_timestamp: '5' }, /last_timestamp of a\/0/],
    [{ last_batch: { ...batch, crc: -1 } }, /last_batch.crc of a\/0/],
    [{ last_batch: { ...batch, more: 1 } }, /last_batch of a\/0/],
    [{ last_batch: { base_offset: 7, records: 1 } }, /last_batch.crc of a\/0/],
    [{ last_batch: null }, /last_batch of a\/0/],
    [{ ...all, more: 1 }, /of a\/0/],
    [[], /of a\/0/],
    [null, /of a\/0/],
    ['all', /of a\/0/],
  ]
  for (const [set, field] of wrong) assert.throws(() => read(set), field, JSON.stringify(set))
})

test('a document that names a pack that it does not have, or lists one list twice, is damaged', () => {
  const segment = [3, 0, 0, 1, 1, 'A'.repeat(22), 0, 0, 1, 1, 1, 0, null, null]
  const list = ['a/0', 0, [0, 0, 0, 0], [0, 0, 0, 0, 0, 0], {}, [segment]]
  const read = (document: unknown) => decodeChange(changeSchema.parse(document), 'b/commits/1')
  assert.throws(() => read({ lists: [list] }), /b\/commits\/1 is damaged: it names pack 3 of 0/)
  const twice = ['a/0', 0, [0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]
  assert.throws(() => read({ lists: [twice, twice] }), /lists a\/0 twice/)
  assert.throws(() => read({ lists: [twice], removed_lists: ['a/0'] }), /lists a\/0 twice/)
  const fresh = ['a/0', 1, [0, 0, 0, 0], [0, 0, 0, 0, 0, 0], {}, [[0, 3]]]
  assert.throws(() => read({ lists: [fresh] }), /is new and names older segments/)
  const pack = { key: 'b/packs/0a-1.pack', size: 10, blake3: 'a'.repeat(64), stored_at: '' }
  const beyond = [0, 8, 0, 3, 3, 'A'.repeat(22), 0, 0, 1, 1, 1, 0, null, null]
  const one = ['a/0', 0, [0, 0, 0, 0], [0, 0, 0, 0, 0, 0], {}, [beyond]]
  assert.throws(() => read({ packs: [pack], lists: [one] }), /a piece ends behind the end of b\/packs\/0a-1.pack/)
  const short = ['b/kafka/t/0/0.log', 0, 0, 3, 3, 'A'.repeat(22), 0, 0, 1, 1, 1, 0, null, null]
  const other = ['a/0', 0, [0, 0, 0, 0], [0, 0, 0, 0, 0, 0], {}, [short]]
  assert.throws(() => read({ lists: [other] }), /a segment has a hash of another length/)
})

test('a change that says nothing is an empty document', () => {
  assert.deepEqual(encodeChange(noChange), {})
})

/** A segment in one frame need not say so; a reader gets the frame. */
function withFrames(change: Change): Change {
  const lists = [...change.lists].map(([key, one]) => {
    const parts = one?.parts?.map(part => {
      if (!('key' in part)) return part
      const { frames, ...rest } = part
      return rest.compression === 'zstd' ? { ...rest, frames: frames ?? [[rest.size, rest.plain_size]] } : rest
    })
    return [key, one && { ...one, ...(parts && { parts }) }] as const
  })
  return { ...change, lists: new Map(lists) } as Change
}

test('the text of a document without its lists says the same of everything else', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { change } = randomStep(randomFrom(seed), { ...emptyState, segments: new Map() })
    const document = { backup_id: 'lists', change: encodeChange(change), parts: ['"lists":[1]'] }
    const text = withoutLists(Buffer.from(formatJson(document)))
    const expected = { ...document, change: { ...document.change, ...('lists' in document.change && { lists: [] }) } }
    assert.deepEqual(parseJson(text), parseJson(formatJson(expected)))
  }
  for (const text of ['', '[]', '{"change":1}', '{"change":{"lists":[1', '{"lists":[1]}']) {
    assert.equal(withoutLists(Buffer.from(text)), text)
  }
})
