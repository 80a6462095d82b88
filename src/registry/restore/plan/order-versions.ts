import { type RegistrySnapshot, versionKey } from '../../../archive/registry-model.ts'
import type { DecidingOptions } from './decide-one.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import { lossNote, type Note } from './restore-step.ts'
import type { Wanted } from './wanted-version.ts'

interface Node {
  key: string
  subject: string
  version: number
  id: number
  /** Keys of what must come before it; those that are not among the nodes do not count. */
  needs: readonly string[]
}

interface Ordered<N> {
  order: N[]
  /** What needs itself, by way of others. */
  circular: N[]
}

/**
 * Pure. An order in which everything comes after what it needs, and the versions of a subject ascend. Of what could come
 * next the lowest ID does, then subject and number decide, so the order is always the same one. Versions that could
 * only come in another order than their numbers still do.
 */
export function orderVersions<N extends Node>(nodes: readonly N[]): Ordered<N> {
  const ascending = new Map<string, string[]>()
  for (const versions of Map.groupBy(nodes, ({ subject }) => subject).values()) {
    const sorted = versions.toSorted((a, b) => a.version - b.version)
    sorted.forEach((node, at) => {
      const before = sorted[at - 1]
      ascending.set(node.key, before ? [before.key] : [])
    })
  }
  const first = sortTopologically(nodes, node => [...node.needs, ...(ascending.get(node.key) ?? [])])
  if (first.circular.length === 0) return first
  const rest = sortTopologically(first.circular, node => node.needs)
  return { order: [...first.order, ...rest.order], circular: rest.circular }
}

function sortTopologically<N extends Node>(nodes: readonly N[], needsOf: (node: N) => readonly string[]): Ordered<N> {
  const byKey = new Map(nodes.map(node => [node.key, node]))
  const waiting = new Map<string, Set<string>>()
  const dependants = new Map<string, N[]>()
  for (const node of nodes) {
    const needs = new Set(needsOf(node).filter(key => byKey.has(key)))
    waiting.set(node.key, needs)
    for (const key of needs) {
      const others = dependants.get(key)
      if (others) others.push(node)
      else dependants.set(key, [node])
    }
  }
  const ready = new Heap<N>(isBefore)
  for (const node of nodes) if (waiting.get(node.key)?.size === 0) ready.push(node)
  const order: N[] = []
  for (let node = ready.pop(); node; node = ready.pop()) {
    order.push(node)
    for (const next of dependants.get(node.key) ?? []) {
      const needs = waiting.get(next.key)
      if (needs?.delete(node.key) && needs.size === 0) ready.push(next)
    }
  }
  const done = new Set(order.map(({ key }) => key))
  return { order, circular: nodes.filter(({ key }) => !done.has(key)) }
}

function isBefore(a: Node, b: Node): boolean {
  if (a.id !== b.id) return a.id < b.id
  if (a.subject !== b.subject) return a.subject < b.subject
  return a.version < b.version
}

/** The least of its items first. */
class Heap<T> {
  readonly #items: T[] = []
  readonly #isBefore: (a: T, b: T) => boolean

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore
  }

  push(item: T): void {
    const items = this.#items
    items.push(item)
    for (let at = items.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1
      if (!this.#swapUnlessOrdered(parent, at)) return
      at = parent
    }
  }

  pop(): T | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (items.length === 0 || last === undefined) return first
    items[0] = last
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      const child = this.#isOrdered(left, right) ? left : right
      if (child >= items.length || !this.#swapUnlessOrdered(at, child)) return first
      at = child
    }
  }

  #isOrdered(a: number, b: number): boolean {
    const [first, second] = [this.#items[a], this.#items[b]]
    return second === undefined || (first !== undefined && !this.#isBefore(second, first))
  }

  #swapUnlessOrdered(upper: number, lower: number): boolean {
    const items = this.#items
    const [a, b] = [items[upper], items[lower]]
    if (a === undefined || b === undefined || !this.#isBefore(b, a)) return false
    items[upper] = b
    items[lower] = a
    return true
  }
}

/** The node of a version of the target. */
export function nodeOf(one: { subject: string; version: number; id: number }, needs: readonly string[]): Node {
  return { key: versionKey(one.subject, one.version), subject: one.subject, version: one.version, id: one.id, needs }
}

/** Leaves out and reports versions that have no valid order: a registry cannot contain them through its own API. */
export function orderWanted(
  wanted: readonly Wanted[],
  twins: ReadonlyMap<Wanted, Wanted>,
  forceIds: boolean,
): { order: Wanted[]; circular: Wanted[] } {
  const standIns = new Map([...twins].map(([twin, standIn]) => [twin.key, standIn.key]))
  const laterTwins = forceIds ? findLaterTwins(wanted) : new Map<string, string[]>()
  const nodes = wanted
    .filter(one => !twins.has(one))
    .map(one => ({
      wanted: one,
      key: one.key,
      subject: one.subject,
      version: one.source.version,
      id: one.source.id,
      needs: [...one.references.map(({ key }) => standIns.get(key) ?? key), ...(laterTwins.get(one.key) ?? [])],
    }))
  const { order, circular } = orderVersions(nodes)
  return { order: order.map(node => node.wanted), circular: circular.map(node => node.wanted) }
}

export function describeCircular({ subject, source }: Wanted): Note {
  const message = `version ${source.version} of subject ${subject} refers to itself by way of others, and is not restored`
  return lossNote('circular_reference', subject, message)
}

/** What the backup has and the restore leaves out, for those that refer to it. */
export function listNotRestored(
  backup: RegistrySnapshot,
  circular: readonly Wanted[],
  options: RegistryRestoreOptions,
): DecidingOptions['notRestored'] {
  const { schemaTypes } = options
  const others = backup.versions.filter(({ schemaType }) => !schemaTypes.includes(schemaType))
  const byType = others.map(one => {
    const subject = options.subjectMapping.get(one.subject) ?? one.subject
    const why = `is in the backup, but is of type ${one.schemaType}, which schema_types leaves out`
    const advice = `Name ${one.schemaType} in schema_types`
    return [versionKey(subject, one.version), { why, advice, schema: one.schema }] as const
  })
  const why = 'is in the backup, but refers to itself by way of others'
  const advice = 'Leave the subject out of backup.subjects'
  return new Map<string, { why: string; advice: string; schema: string }>([
    ...byType,
    ...circular.map(({ key, source: { schema } }) => [key, { why, advice, schema }] as const),
  ])
}

/**
 * By deleted version that live ones refer to: the later ones of its subject with its ID. To register one of them removes
 * what is marked as deleted before it with the same ID. It is marked as soon as it is there, so they come first.
 */
function findLaterTwins(wanted: readonly Wanted[]): Map<string, string[]> {
  const live = new Set(
    wanted.filter(({ source }) => !source.isDeleted).flatMap(({ references }) => references.map(({ key }) => key)),
  )
  const later = new Map<string, string[]>()
  for (const group of Map.groupBy(wanted, ({ subject, source }) => `${source.id} ${subject}`).values()) {
    for (const one of group.filter(({ key, source }) => source.isDeleted && live.has(key))) {
      const keys = group.filter(({ source }) => source.version > one.source.version).map(({ key }) => key)
      if (keys.length > 0) later.set(one.key, keys)
    }
  }
  return later
}
