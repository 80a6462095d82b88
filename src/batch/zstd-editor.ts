import { Tries } from './tries.ts'
import { editZstdFrame, type PlainEdit } from './zstd-edit.ts'
import { withPlainSize } from './zstd-frame.ts'
import { ZstdMarks } from './zstd-marks.ts'
import { ZstdReader } from './zstd-reader.ts'

/** Of a usual batch. */
const ROOM_BYTES = 256 << 10

/** Edits the beginning of frames as long as that works for most of them: batches of a topic are much alike. */
export class ZstdEditor {
  readonly #reader = new ZstdReader()
  readonly #marks = new ZstdMarks()
  readonly #marking = new Tries()
  readonly #editing = new Tries()
  #room: Buffer | undefined

  /** What a frame holds that is likely to be edited as the last one was, valid until the next call; the caller may change it. Undefined for others. */
  open(frame: Buffer): Buffer | undefined {
    if (!this.#marks.isReady || this.#editing.isPaused || !this.#marking.mayTry()) return undefined
    const plain = this.#marks.open(frame)
    if (!plain) this.#marking.note(false)
    return plain
  }

  /** A frame that holds `plain`, which differs from what the frame holds in its beginning, and in copies of it. Undefined where it has to be compressed. */
  edit(frame: Buffer, edit: PlainEdit, plain: Buffer): Buffer | undefined {
    if (!this.#editing.mayTry()) return undefined
    const edited = edit.before.length > 0 ? editZstdFrame(frame, edit, plain.length) : undefined
    const isRight = edited !== undefined && this.#isRight(frame, edited, edit, plain)
    this.#editing.note(isRight)
    return isRight ? edited : undefined
  }

  #isRight(frame: Buffer, edited: Buffer, edit: PlainEdit, plain: Buffer): boolean {
    if (this.#marks.isOpened(frame)) {
      const isConfirmed = this.#marks.confirms(edited, edit, plain)
      this.#marking.note(isConfirmed)
      if (isConfirmed) return true
    }
    const isRight = this.#holds(edited, plain)
    if (isRight) this.#marks.expect(edit, plain)
    return isRight
  }

  #holds(frame: Buffer, plain: Buffer): boolean {
    this.#room ??= Buffer.allocUnsafeSlow(ROOM_BYTES)
    const sized = withPlainSize(frame, plain.length, this.#room)
    return sized !== undefined && this.#reader.read(sized)?.equals(plain) === true
  }
}
