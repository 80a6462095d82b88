import { EditPlaces } from './edit-places.ts'
import { withRoom } from './room.ts'
import type { PlainEdit } from './zstd-edit.ts'
import { readZstdFrame } from './zstd-frame.ts'
import { differInFirstLiterals, readParts, type ZstdPart, ZstdParts } from './zstd-parts.ts'
import { ZstdReader } from './zstd-reader.ts'

/** A literal that was replaced by a byte which no literal of its frame has, and all that the decoder copied it to. */
interface Mark {
  place: number
  plain: number
  mark: number
  sites: number[]
}

interface Opened {
  frame: Buffer
  parts: readonly ZstdPart[]
  literals: Buffer
  marks: readonly Mark[]
  /** What the frame holds, with the marks. */
  marked: Buffer
}

const MIN_ROOM_BYTES = 32 << 10
/** Beyond them a byte that no literal has is unlikely. */
const TRIED_BYTES = 32
/** Of larger frames, the memory that is kept and the blocks would be too many. */
const MAX_PLAIN_BYTES = 4 << 20
/** More than the records of a usual batch: a small frame can copy a literal millions of times, and a list of the places takes much memory. */
const MAX_SITES = 128 << 10

/**
 * Opens frames so that it is known where an edit of their beginning leads, without decoding the edited frame.
 *
 * All that a frame holds are its literals and copies of them. A literal that is likely to be edited is replaced by a mark: where what the decoder
 * returns has the mark, there is the literal, and the edit.
 */
export class ZstdMarks {
  readonly #places = new EditPlaces()
  readonly #parts = new ZstdParts()
  readonly #reader = new ZstdReader()
  #opened: Opened | undefined
  #literals: Buffer = Buffer.alloc(0)
  #plain: Buffer = Buffer.alloc(0)

  /** An edit has shown which literals to mark. */
  get isReady(): boolean {
    return this.#places.areKnown
  }

  /** The next edit is likely to be like this one, of a frame that now holds `plain`. */
  expect(edit: PlainEdit, plain: Buffer): void {
    this.#places.note(edit, plain)
  }

  /** What the frame holds, valid until the next call; the caller may change it. Undefined for what is unusual, or would get no mark. */
  open(frame: Buffer): Buffer | undefined {
    this.#opened = undefined
    const known = readZstdFrame(frame)
    const parts = known && known.maxPlainBytes <= MAX_PLAIN_BYTES ? readParts(frame) : undefined
    const read = parts && this.#parts.readLiterals(frame, parts)
    if (!parts || !read) return undefined
    this.#literals = copyTo(this.#literals, read)
    const literals = this.#literals.subarray(0, read.length)
    const marks = chooseMarks(literals, this.#places.find(literals))
    for (const { place, mark } of marks) literals[place] = mark
    const replaced = marks.length > 0 ? this.#parts.withLiterals(frame, parts, literals) : undefined
    for (const { place, plain } of marks) literals[place] = plain
    const marked = replaced && this.#reader.read(replaced)
    if (!marked) return undefined
    if (!marks.every(one => findSites(marked, one))) return undefined
    this.#opened = { frame, parts, literals, marks, marked }
    this.#plain = copyTo(this.#plain, marked)
    for (const { sites, plain } of marks) for (const site of sites) this.#plain[site] = plain
    return this.#plain.subarray(0, marked.length)
  }

  /** Whether it is the frame that was opened last. */
  isOpened(frame: Buffer): boolean {
    return this.#opened?.frame === frame
  }

  /** Whether `edited`, which the frame that was opened last became, holds `plain`. Where this is false, decoding it may show that it does. */
  confirms(edited: Buffer, edit: PlainEdit, plain: Buffer): boolean {
    const opened = this.#opened
    this.#opened = undefined
    if (!opened || !areMarked(opened.marks, edit) || !this.#isOnlyEdited(opened, edited, edit)) return false
    const { marked, marks } = opened
    for (const { place, sites, plain: before } of marks) {
      const after = edit.after[place] ?? before
      for (const site of sites) marked[site] = after
    }
    return marked.equals(plain)
  }

  /** The edited frame has the edited beginning in front of the same literals, and is the same behind those of the first block. */
  #isOnlyEdited({ frame, parts, literals }: Opened, edited: Buffer, { before, after }: PlainEdit): boolean {
    const others = readParts(edited)
    if (!others || !differInFirstLiterals({ frame, parts }, { frame: edited, parts: others })) return false
    const read = this.#parts.readLiterals(edited, others.slice(0, 1))
    return (
      read !== undefined &&
      literals.subarray(0, before.length).equals(before) &&
      read.subarray(0, after.length).equals(after) &&
      read.subarray(after.length).equals(literals.subarray(before.length, read.length))
    )
  }
}

/** A mark for each place; none where there are too few bytes for them. */
function chooseMarks(literals: Buffer, places: readonly number[]): Mark[] {
  const marks: Mark[] = []
  let mark = 256
  for (const place of places) {
    const plain = literals[place]
    do mark--
    while (mark > 256 - TRIED_BYTES && literals.includes(mark))
    if (plain === undefined || mark <= 256 - TRIED_BYTES) return []
    marks.push({ place, plain, mark, sites: [] })
  }
  return marks
}

/** False where there are too many. */
function findSites(marked: Buffer, { mark, sites }: Mark): boolean {
  let at = marked.indexOf(mark)
  for (; at >= 0 && sites.length < MAX_SITES; at = marked.indexOf(mark, at + 1)) sites.push(at)
  return at < 0
}

function areMarked(marks: readonly Mark[], { before, after }: PlainEdit): boolean {
  return after.every((byte, at) => byte === before[at] || marks.some(({ place }) => place === at))
}

/** The memory, or larger memory where it has too little room. */
function copyTo(room: Buffer, bytes: Buffer): Buffer {
  const own = withRoom(room, bytes.length, MIN_ROOM_BYTES)
  bytes.copy(own)
  return own
}
