import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  applyChange,
  applyParts,
  type Change,
  emptyState,
  type HeadField,
  type ListChange,
  type ListPart,
  noChange,
  type State,
  type TopicRow,
} from '../../../src/archive/log/change.ts'
import { composeAll, composeChanges } from '../../../src/archive/log/compose-changes.ts'
import type { ListRow, RowChange } from '../../../src/archive/log/row-change.ts'
import type { Segment } from '../../../src/archive/manifest.ts'
import { type Random, randomFrom, randomSegment } from './random-state.ts'

/**
 * A backup without any cleverness: a change is carried out step by step on plain objects, in the order that docs/format-2.md
 * gives. The changes may contradict themselves: they set and remove the same field or topic.
 */
class Model {
  head: Record<string, unknown> = { ...emptyState.head }
  topics: Record<string, TopicRow> = {}
  lists: Record<string, { row: Record<string, unknown>; segments: Segment[] }> = {}
  readonly everNamed = new Set<string>()

  carryOut({ head, unset, topics, removedTopics, lists }: Change): void {
    for (const [field, value] of Object.entries(head)) this.head[field] = value
    for (const field of unset) delete this.head[field]
    for (const [key, topic] of topics) this.topics[key] = topic
    for (const key of removedTopics) delete this.topics[key]
    for (const [key, change] of lists) this.#carryOutList(key, change)
    for (const { segments } of Object.values(this.lists)) for (const { key } of segments) this.everNamed.add(key)
  }

  #carryOutList(key: string, change: ListChange | null): void {
    if (change === null) {
      delete this.lists[key]
      return
    }
    if (change.isNew || !this.lists[key]) this.lists[key] = { row: startRow(), segments: [] }
    const list = this.lists[key] ?? assert.fail()
    for (const [field, value] of Object.entries(change.row.set)) list.row[field] = value
    for (const field of change.row.unset) delete list.row[field]
    offsets.forEach((field, i) => {
      list.row[field] = (list.row[field] as bigint) + (change.row.offsets[i] ?? 0n)
    })
    counts.forEach((field, i) => {
      list.row[field] = (list.row[field] as number) + (change.row.sums[i] ?? 0)
    })
    const before = list.segments
    if (!change.parts) return
    list.segments = []
    for (const part of change.parts) {
      if ('key' in part) list.segments.push(part)
      else for (let i = part[0]; i < part[1]; i++) list.segments.push(before[i] ?? assert.fail())
    }
  }
}

const offsets = ['start_offset', 'end_offset', 'high_watermark', 'last_stable_offset']
const counts = ['records', 'aborted_records', 'batches', 'bytes', 'stored_bytes', 'segments']

function startRow(): Record<string, unknown> {
  const zeros = [...offsets.map(field => [field, 0n]), ...counts.map(field => [field, 0])]
  const rest = { last_epoch: -1, first_timestamp: null, last_timestamp: null, gaps: [], open_aborted: [] }
  return { ...Object.fromEntries(zeros), ...rest }
}

function randomRowChange(random: Random): RowChange {
  const set: RowChange['set'] = {
    ...(random(3) === 0 && { read_to: BigInt(random(9)) }),
    ...(random(3) === 0 && { last_epoch: random(9) }),
    ...(random(3) === 0 && { converted: { formats: ['v1' as const], end_offset: BigInt(random(9)) } }),
    ...(random(3) === 0 && { last_batch: { base_offset: 1n, records: random(9), crc: 1 } }),
  }
  const optional = ['read_to', 'last_batch', 'compaction', 'converted'] as const
  return {
    offsets: offsets.map(() => BigInt(random(20) - 10)),
    sums: counts.map(() => random(20) - 10),
    set,
    unset: optional.filter(() => random(4) === 0),
  }
}

/** Cut, append, insert, merge, or all of it; ranges are in their order. */
function randomParts(random: Random, length: number, list: string): ListPart[] {
  const parts: ListPart[] = []
  let at = random(3) === 0 ? random(length + 1) : 0
  while (at < length) {
    const to = Math.min(length, at + 1 + random(4))
    if (random(4) > 0) parts.push([at, to])
    else if (random(2) === 0) parts.push(randomSegment(random, list))
    at = to + (random(6) === 0 ? 1 : 0)
  }
  while (random(2) === 0) parts.push(randomSegment(random, list))
  return parts
}

function randomList(random: Random, list: string, model: Model): ListChange | null {
  if (random(5) === 0) return null
  const isNew = random(5) === 0
  const length = isNew ? 0 : (model.lists[list]?.segments.length ?? 0)
  const row = randomRowChange(random)
  return random(3) === 0 ? { isNew, row } : { isNew, row, parts: randomParts(random, length, list) }
}

function randomChange(random: Random, model: Model): Change {
  const names = ['a', 'b', 'c']
  const some = <T>(values: readonly T[]) => values.filter(() => random(3) === 0)
  const topicOf = (id: string): [string, TopicRow] => [
    id,
    { name: `t${id}`, id, state: 'current', internal: false, replication_factor: random(9), configs: {} },
  ]
  const lists = some([...names.flatMap(name => [`${name}/0`, `${name}/1`, `reread/${name}/0`])])
  const optional: HeadField[] = ['lineage', 'access', 'encryption']
  return {
    head: {
      ...(random(3) === 0 && { lineage: String(random(99)) }),
      ...(random(3) === 0 && { warnings: [String(random(99))] }),
    },
    unset: some(optional),
    topics: new Map(some(names).map(topicOf)),
    removedTopics: new Set(some(names)),
    lists: new Map(lists.map(list => [list, randomList(random, list, model)])),
    passing: new Map(),
  }
}

function segmentsOf(change: Change): Record<string, Segment[]> {
  const found: Record<string, Segment[]> = {}
  for (const [list, one] of change.lists) if (one) found[list] = applyParts([], one.parts ?? []) ?? assert.fail()
  return found
}

function assertSame(model: Model, { head, topics, lists }: State): void {
  assert.deepEqual(head, model.head)
  assert.deepEqual(Object.fromEntries(topics), model.topics)
  const rows = Object.entries(model.lists).map(([list, { row }]): [string, ListRow] => [list, row as never])
  assert.deepEqual(lists, new Map(rows))
}

/** Every way to put the changes together: from the left, from the right, all at once, in random groups. */
function groupings(random: Random, changes: readonly Change[]): Change[] {
  const cut = random(changes.length + 1)
  return [
    composeAll(changes),
    changes.reduce(composeChanges, noChange),
    changes.reduceRight((behind, one) => composeChanges(one, behind), noChange),
    composeChanges(composeAll(changes.slice(0, cut)), composeAll(changes.slice(cut))),
  ]
}

test('composed changes have the effect of carrying out each, however they contradict themselves', () => {
  for (let seed = 1; seed <= 150; seed++) {
    const random = randomFrom(seed)
    const model = new Model()
    const changes: Change[] = []
    let state: State = emptyState
    for (let i = 1 + random(14); i > 0; i--) {
      const change = randomChange(random, model)
      changes.push(change)
      model.carryOut(change)
      state = applyChange(state, change)
    }
    assertSame(model, state)
    for (const composed of groupings(random, changes)) {
      assertSame(model, applyChange(emptyState, composed))
      const segments = segmentsOf(asNew(composed))
      for (const [list, { segments: expected }] of Object.entries(model.lists)) {
        assert.deepEqual(segments[list] ?? [], expected, `${list} of seed ${seed}`)
      }
      const parts = [...composed.lists.values()].flatMap(one => one?.parts ?? [])
      const named = new Set([...parts.flatMap(part => ('key' in part ? [part.key] : [])), ...composed.passing.keys()])
      assert.deepEqual(
        [...model.everNamed].filter(key => !named.has(key)),
        [],
        `passing of seed ${seed}`,
      )
    }
  }
})

test('composed changes have the same effect on a state that was there before', () => {
  for (let seed = 1; seed <= 150; seed++) {
    const random = randomFrom(1000 + seed)
    const model = new Model()
    const begin = randomChange(random, model)
    model.carryOut(begin)
    const changes: Change[] = []
    for (let i = 1 + random(8); i > 0; i--) {
      changes.push(randomChange(random, model))
      model.carryOut(changes.at(-1) ?? noChange)
    }
    for (const composed of groupings(random, changes)) {
      assertSame(model, applyChange(applyChange(emptyState, begin), composed))
      const before = segmentsOf(asNew(begin))
      for (const [list, { segments: expected }] of Object.entries(model.lists)) {
        const change = composed.lists.get(list)
        const base = change?.isNew ? [] : (before[list] ?? [])
        assert.deepEqual(change?.parts ? applyParts(base, change.parts) : base, expected, `${list} of seed ${seed}`)
      }
    }
  }
})

/** Behind the empty state there are no segments before. */
function asNew(change: Change): Change {
  return composeChanges({ ...noChange, lists: new Map([...change.lists.keys()].map(list => [list, null])) }, change)
}
