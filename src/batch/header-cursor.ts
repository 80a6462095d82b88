import { readInt64 } from '../lib/int64.ts'
import type { BatchHeader } from './header.ts'

/**
 * The header of one batch after the other. The cursor itself is the current header and reads fields when they are asked for: an object and
 * several integers of 64 bits for each of many small batches cost more than everything else that is done with them.
 */
export class HeaderCursor implements BatchHeader {
  readonly #bytes: Buffer
  #position = 0
  #baseOffset: bigint | undefined
  #lastOffset: bigint | undefined

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  moveTo(position: number): this {
    this.#position = position
    this.#baseOffset = undefined
    this.#lastOffset = undefined
    return this
  }

  get position(): number {
    return this.#position
  }

  get sizeBytes(): number {
    return this.#bytes.readInt32BE(this.#position + 8) + 12
  }

  get baseOffset(): bigint {
    this.#baseOffset ??= readInt64(this.#bytes, this.#position)
    return this.#baseOffset
  }

  get lastOffset(): bigint {
    this.#lastOffset ??= this.baseOffset + BigInt(this.#bytes.readInt32BE(this.#position + 23))
    return this.#lastOffset
  }

  get leaderEpoch(): number {
    return this.#bytes.readInt32BE(this.#position + 12)
  }

  get attributes(): number {
    return this.#bytes.readInt16BE(this.#position + 21)
  }

  get baseTimestamp(): bigint {
    return readInt64(this.#bytes, this.#position + 27)
  }

  get maxTimestamp(): bigint {
    return readInt64(this.#bytes, this.#position + 35)
  }

  get producerId(): bigint {
    return readInt64(this.#bytes, this.#position + 43)
  }

  get recordCount(): number {
    return this.#bytes.readInt32BE(this.#position + 57)
  }
}
