import { formatUtc } from '../../lib/clock.ts'
import type { Storage } from '../../storage/storage.ts'
import { type FolderOf, rereadRun, segmentKey } from '../layout.ts'
import { SegmentWriter } from '../segment-writer.ts'
import { ownerOf } from './as-manifest.ts'
import type { State } from './change.ts'
import { type MergeParts, type MergeResults, mergePieces } from './merge-pieces.ts'
import { PackSet } from './pack-set.ts'
import { PackStream } from './pack-stream.ts'
import type { PackOptions } from './packed-piece.ts'
import type { Merge, MergeRules } from './plan-merges.ts'

/** What reaches this part of the size of a segment is one. */
const PIECE_SHARE = 16

export interface PieceOptions {
  compression: MergeParts['compression']
  segmentBytes: number
  /** Pieces become segments after this time. */
  mergeAfterMs: number
}

/** Where the pieces of a backup are written to, and what they are merged into. */
export interface PiecePlaces {
  backupId: string
  /** A random name, another one at each call. */
  newRun: () => string
  /** The time by the clock of the store, as far as this process knows it. */
  nowMs: () => number
  folderOf?: FolderOf | undefined
}

/** Writes small appends, and merges them. */
export class PieceStore {
  readonly #storage: Storage
  readonly #places: PiecePlaces
  readonly #options: PieceOptions
  /** By how much the known time was behind the store when the last pack was stored. */
  #behindMs = 0

  constructor(storage: Storage, places: PiecePlaces, options: PieceOptions) {
    this.#storage = storage
    this.#places = places
    this.#options = options
  }

  openPacks(run: string, signal: AbortSignal): PackSet {
    return new PackSet(this.#storage, this.#packOptions(run), signal)
  }

  rules(): MergeRules {
    const olderThanMs = this.#places.nowMs() + this.#behindMs - this.#options.mergeAfterMs
    return { maxPieceBytes: this.#maxPieceBytes, olderThanMs }
  }

  /** Writes the results; nothing names them yet. */
  merge(merges: readonly Merge[], { topics }: State, signal: AbortSignal): Promise<MergeResults> {
    const { backupId, newRun, folderOf } = this.#places
    const run = newRun()
    const openSegment: MergeParts['openSegment'] = ({ list, sources }, compressed, segmentSignal) => {
      const { isReread, topic, partition } = ownerOf(list)
      const name = topics.get(topic)?.name
      const [first] = sources
      if (name === undefined || !first) throw new Error(`${list} has no topic, or nothing to merge`)
      const place = { backupId, topic: name, partition, folderOf }
      const key = segmentKey(place, first.start_offset, isReread ? rereadRun(run) : run, compressed)
      return SegmentWriter.open(this.#storage, key, compressed, segmentSignal)
    }
    const { compression } = this.#options
    const packs = new PackStream(this.#storage, this.#packOptions(run), signal)
    const parts = { storage: this.#storage, packs, compression, openSegment }
    return mergePieces(merges, parts, signal)
  }

  /** The name of a run alone would not do: every round is one, and a year has a million. */
  #packOptions(run: string): PackOptions {
    const { backupId, nowMs, newRun } = this.#places
    const now = () => formatUtc(nowMs())
    const onBehind = (ms: number) => {
      this.#behindMs = ms
    }
    return { backupId, run: `${run}${newRun()}`, maxPieceBytes: this.#maxPieceBytes, now, onBehind }
  }

  get #maxPieceBytes(): number {
    return this.#options.segmentBytes / PIECE_SHARE
  }
}
