import { editZstdFrame, type PlainEdit } from './zstd-edit.ts'
import { withPlainSize } from './zstd-frame.ts'
import { ZstdReader } from './zstd-reader.ts'

/** After so many frames, most of which could not be edited, as many are not tried. */
const JUDGED_FRAMES = 16
const PAUSED_FRAMES = 240
/** Of a usual batch. */
const ROOM_BYTES = 256 << 10

/** Edits the beginning of frames as long as that works for most of them: batches of a topic are much alike. */
export class ZstdEditor {
  readonly #reader = new ZstdReader()
  readonly #room = Buffer.allocUnsafeSlow(ROOM_BYTES)
  #tried = 0
  #failed = 0
  #pause = 0

  /** A frame that holds `plain`, which differs from what the frame holds in its beginning, and in copies of it. Undefined where it has to be compressed. */
  edit(frame: Buffer, edit: PlainEdit, plain: Buffer): Buffer | undefined {
    if (this.#pause > 0) {
      this.#pause--
      return undefined
    }
    const edited = edit.before.length > 0 ? editZstdFrame(frame, edit, plain.length) : undefined
    const isRight = edited !== undefined && this.#holds(edited, plain)
    this.#note(isRight)
    return isRight ? edited : undefined
  }

  #holds(frame: Buffer, plain: Buffer): boolean {
    const sized = withPlainSize(frame, plain.length, this.#room)
    return sized !== undefined && this.#reader.read(sized)?.equals(plain) === true
  }

  #note(isRight: boolean): void {
    this.#tried++
    if (!isRight) this.#failed++
    if (this.#tried < JUDGED_FRAMES) return
    if (this.#failed * 2 > this.#tried) this.#pause = PAUSED_FRAMES
    this.#tried = 0
    this.#failed = 0
  }
}
