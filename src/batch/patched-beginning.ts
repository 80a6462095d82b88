import type { PlainEdit } from './zstd-edit.ts'

/** An ID that first occurs behind this is hardly ever among the first literals of its frame. */
const MAX_BYTES = 4 << 10

/** The beginning of the records of a batch as it was, to compare with what they are after they were patched. */
export class PatchedBeginning {
  readonly #before = Buffer.alloc(MAX_BYTES)
  #length = 0

  /** Before the records are patched. */
  note(body: Buffer): void {
    this.#length = body.copy(this.#before)
  }

  /** Up to the last changed byte of the first record that was changed, which ends there. Valid until the next `note`. */
  editOf(body: Buffer, recordEnd: number): PlainEdit {
    let length = Math.min(recordEnd, this.#length)
    while (length > 0 && this.#before[length - 1] === body[length - 1]) length--
    return { before: this.#before.subarray(0, length), after: body.subarray(0, length) }
  }
}
