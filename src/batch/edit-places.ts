import { type Cursor, readVarint, readVarlong } from './varint.ts'
import type { PlainEdit } from './zstd-edit.ts'

/** Two IDs have as many bytes. */
const MAX_PLACES = 8

/** A place in the first record of a batch. */
interface Place {
  part: 'key' | 'value'
  /** Behind the begin of the part. */
  at: number
}

/** Where the last edit changed bytes of the first record. That of the next batch is likely to change them there, too. */
export class EditPlaces {
  #places: readonly Place[] = []

  get areKnown(): boolean {
    return this.#places.length > 0
  }

  /** `plain` is what the batch holds. */
  note(edit: PlainEdit, plain: Buffer): void {
    const starts = findParts(plain)
    const changes = changesOf(edit)
    this.#places = starts && changes.length <= MAX_PLACES ? changes.map(at => asPlace(at, starts)) : []
  }

  /** In the beginning of what another batch holds, each once. */
  find(beginning: Buffer): number[] {
    const starts = findParts(beginning)
    return starts ? this.#places.map(({ part, at }) => starts[part] + at) : []
  }
}

function changesOf({ before, after }: PlainEdit): number[] {
  return Array.from(before.keys()).filter(at => before[at] !== after[at])
}

type Starts = Record<Place['part'], number>

function asPlace(at: number, { key, value }: Starts): Place {
  return at < value ? { part: 'key', at: at - key } : { part: 'value', at: at - value }
}

/**
 * Record (v2): length, attributes INT8, timestamp delta, offset delta, key length, key, value length. Undefined where it is cut off. What follows is
 * not looked at, because of a frame's literals only the first are those of the record.
 */
function findParts(bytes: Buffer): Starts | undefined {
  const reader: Cursor = { buffer: bytes, position: 0 }
  try {
    readVarint(reader)
    reader.position++
    readVarlong(reader)
    readVarint(reader)
    const keyBytes = readVarint(reader)
    const key = reader.position
    reader.position += Math.max(keyBytes, 0)
    readVarint(reader)
    return { key, value: reader.position }
  } catch {
    return undefined
  }
}
