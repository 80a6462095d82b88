import type { SourceBatch } from './compression.ts'
import { type BatchHeader, readHeader } from './header.ts'
import { HeaderCursor } from './header-cursor.ts'

/**
 * Batches of a buffer, by their positions. Their headers are read each time they are needed: headers that are kept for many small
 * batches cost the collector more than reading them again.
 */
export class BatchList implements Iterable<BatchHeader> {
  readonly bytes: Buffer
  readonly positions: readonly number[]

  constructor(bytes: Buffer, positions: readonly number[]) {
    this.bytes = bytes
    this.positions = positions
  }

  at(index: number): BatchHeader | undefined {
    const position = this.positions.at(index)
    return position === undefined ? undefined : readHeader(this.bytes, position)
  }

  slice(start: number, end: number): BatchList {
    return new BatchList(this.bytes, this.positions.slice(start, end))
  }

  *[Symbol.iterator](): Generator<BatchHeader> {
    for (const position of this.positions) yield readHeader(this.bytes, position)
  }

  /** One object for all of them: what is to be kept of a header must be taken before the next one is asked for. */
  *headers(): Generator<HeaderCursor> {
    const cursor = new HeaderCursor(this.bytes)
    for (const position of this.positions) yield cursor.moveTo(position)
  }

  /** Likewise. */
  *sources(): Generator<SourceBatch> {
    const header = new HeaderCursor(this.bytes)
    const source = { bytes: this.bytes, header }
    for (const position of this.positions) {
      header.moveTo(position)
      yield source
    }
  }
}
