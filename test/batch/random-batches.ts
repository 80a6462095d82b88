import { type Codec, codecNames } from '../../src/batch/header.ts'
import { type BatchSpec, encodeBatch, type RecordSpec } from '../fakes/batches.ts'
import { createRandom } from '../fakes/faulty-storage.ts'

const farTimes = [-1n, 0n, 1_700_000_000_000n, 2n ** 50n, 2n ** 50n + 1n, 2n ** 53n + 1n, -(2n ** 60n), 2n ** 63n - 1n]
const jumps = [
  0n,
  1n,
  -1n,
  300n,
  -86_400_000n,
  2n ** 31n,
  2n ** 47n,
  2n ** 48n,
  -(2n ** 48n) - 1n,
  2n ** 55n,
  -(2n ** 62n),
]

/** Batches as odd as producers, compaction and brokers can make them; the same ones for the same seed. */
export class RandomBatches {
  readonly random: () => number

  constructor(seed: number) {
    this.random = createRandom(seed)
  }

  pick(below: number): number {
    return Math.floor(this.random() * below)
  }

  oneOf<T>(items: readonly T[], fallback: T): T {
    return items[this.pick(items.length)] ?? fallback
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }

  /** Adjacent batches, with holes inside and between them. */
  batches(count: number, codec?: Codec): Buffer[] {
    let offset = this.oneOf([0n, 7n, 2n ** 40n, 2n ** 62n], 0n)
    return Array.from({ length: count }, () => {
      const spec = this.spec(offset, codec ?? this.oneOf(codecNames, 'none'))
      offset += BigInt((spec.lastOffsetDelta ?? 0) + 1 + (this.chance(0.3) ? this.pick(5) : 0))
      return encodeBatch(spec)
    })
  }

  spec(baseOffset: bigint, codec: Codec): BatchSpec {
    const records = this.records()
    const last = records.at(-1)?.offsetDelta ?? -1
    const baseTimestamp = this.oneOf(farTimes, 0n)
    const spec = { baseOffset, codec, records, baseTimestamp, lastOffsetDelta: last + (this.chance(0.2) ? 3 : 0) }
    // A compacted batch may be empty, but it has an offset.
    if (records.length === 0) return { ...spec, lastOffsetDelta: this.pick(4), maxTimestamp: baseTimestamp }
    const maxTimestamp = records
      .map(({ timestampDelta = 0n }) => BigInt.asIntN(64, baseTimestamp + timestampDelta))
      .toSorted((a, b) => (a < b ? 1 : -1))[0]
    const isStamped = this.chance(0.2)
    return { ...spec, maxTimestamp: maxTimestamp ?? 0n, logAppendTime: isStamped, transactional: this.chance(0.1) }
  }

  records(): RecordSpec[] {
    const hasHoles = this.chance(0.3)
    const isFar = this.chance(0.3)
    let offsetDelta = hasHoles ? this.pick(3) : 0
    return Array.from({ length: this.chance(0.1) ? 0 : 1 + this.pick(12) }, () => {
      const record = {
        key: this.bytes(20),
        value: this.bytes(this.chance(0.1) ? 3000 : 60),
        headers: this.headers(),
        timestampDelta: isFar ? this.oneOf(jumps, 0n) : BigInt(this.pick(100) - 20),
        offsetDelta,
      }
      offsetDelta += 1 + (hasHoles ? this.pick(4) : 0)
      return record
    })
  }

  headers(): [string, Buffer | null][] {
    const count = this.chance(0.5) ? 0 : this.chance(0.01) ? 1000 : this.pick(5)
    return Array.from({ length: count }, () => [this.oneOf(['a', 'a', '', 'ünï', 'long name'], ''), this.bytes(9)])
  }

  bytes(maxBytes: number): Buffer | null {
    if (this.chance(0.2)) return null
    const byte = this.pick(256)
    return Buffer.from(Array.from({ length: this.pick(maxBytes) }, (_, i) => (this.chance(0.8) ? byte : i)))
  }
}
