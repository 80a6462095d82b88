import { type Part, parts } from '../registry/ids/schema-id.ts'

/** Of the keys or values that are not null. */
export interface PartCounts {
  /** Another id or GUID. */
  rewritten: number
  /** The same id on the target. */
  same: number
  /** An id that the target does not have. */
  unknown: number
  /** Named by a GUID that is the same on the target. */
  guid: number
  /** Without a frame. */
  unframed: number
  /** Begins like an id that is another one on the target, but may be something else: left as it is. */
  unclear: number
  /** An id that is another one on the target, left as the job says (`rewrite_ids: false`). */
  kept: number
}

export type IdCounts = Record<Part, PartCounts>

/** What was looked at to find schema ids that the target does not have. */
export interface IdCheck {
  mode: 'sample' | 'all'
  records: number
  /** Keys and values with such an id. */
  unknown: number
}

/** What was found of the schema ids in so many records of a partition, by all runs of a restore. */
export interface IdTally {
  records: number
  ids: IdCounts
}

const kinds = [
  'rewritten',
  'same',
  'unknown',
  'guid',
  'unframed',
  'unclear',
  'kept',
] as const satisfies (keyof PartCounts)[]

/** As few characters as it takes: it is kept with the progress of each partition. */
export function encodeTally({ records, ids }: IdTally): number[] {
  return [records, ...parts.flatMap(part => kinds.map(kind => ids[part][kind]))]
}

/** Undefined for anything that `encodeTally` does not give. */
export function decodeTally(numbers: unknown): IdTally | undefined {
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
  if (!Array.isArray(numbers) || numbers.length !== 1 + parts.length * kinds.length) return undefined
  const [records, ...counts] = numbers.filter(isCount)
  if (records === undefined || counts.length !== parts.length * kinds.length) return undefined
  const ids = noCounts()
  for (const [at, part] of parts.entries()) {
    for (const [i, kind] of kinds.entries()) ids[part][kind] = counts[at * kinds.length + i] ?? 0
  }
  return { records, ids }
}

export function noCounts(): IdCounts {
  const none = () => ({ rewritten: 0, same: 0, unknown: 0, guid: 0, unframed: 0, unclear: 0, kept: 0 })
  return { key: none(), value: none() }
}

export function addCounts(sum: IdCounts, more: IdCounts): void {
  for (const part of parts) {
    const into = sum[part]
    for (const kind of Object.keys(into) as (keyof PartCounts)[]) into[kind] += more[part][kind]
  }
}
