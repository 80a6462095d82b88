import type { PendingState } from '../archive/assert-undisturbed.ts'
import { commitGeneration, type Draft, type IndexesAhead, writeIndexesAhead } from '../archive/commit.ts'
import type { Manifest, Segment } from '../archive/manifest.ts'
import { renewCopies } from '../archive/newest-copies.ts'
import { KafkaBackupError } from '../errors.ts'
import { formatUtc } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { BackupOptions } from './backup-options.ts'
import { draftManifest, saysNothingNew, sectionKeys } from './draft-manifest.ts'
import { type Copies, draftSegments, expectedSegments, settleCommitted } from './draft-topics.ts'
import type { BackupParts, Prepared } from './round.ts'
import { confirmLease, type Published, type Publisher } from './session.ts'

type PublisherParts = Pick<BackupParts, 'storage' | 'clock' | 'newRun' | 'toolVersion' | 'encryption' | 'lease'>

interface PublisherOptions {
  carried?: ReadonlyMap<string, readonly Segment[]>
  /** So long after the last generation, one that would say nothing new is not made. */
  quietMs?: number
}

/** Indexes that are written while the last segments are on their way. */
const MAX_AHEAD = 256

/** Publishes what is durable as the next generation of the backup. */
export class GenerationPublisher implements Publisher {
  readonly run: string
  carried: ReadonlyMap<string, readonly Segment[]>
  readonly #options: BackupOptions
  readonly #prepared: Prepared
  readonly #parts: PublisherParts
  readonly #startedAt: string
  /** The store finishes what it began, also after a Ctrl-C. */
  readonly #storeSignal = new AbortController().signal
  #newest: Manifest | undefined
  readonly #quietMs: number
  #attempt = 1
  #ahead: IndexesAhead | undefined

  constructor(
    options: BackupOptions,
    prepared: Prepared,
    parts: PublisherParts,
    { carried = new Map(), quietMs = 0 }: PublisherOptions = {},
  ) {
    this.run = parts.newRun()
    this.carried = carried
    this.#quietMs = quietMs
    this.#options = options
    this.#prepared = prepared
    this.#parts = parts
    this.#startedAt = formatUtc(parts.clock.now())
    this.#newest = prepared.previous
  }

  /** The newest generation that this process knows to be committed. */
  get newest(): Manifest {
    if (this.#newest) return this.#newest
    throw new KafkaBackupError('INTERNAL', 'nothing is committed yet')
  }

  async prepare(state: Copies): Promise<void> {
    const expected = expectedSegments(state)
    // The indexes of many partitions take many requests, and waiting for the segments is little of that.
    if (expected.size === 0 || expected.size > MAX_AHEAD) return
    try {
      const draft = this.#draft({ ...state, complete: true, warnings: [] }, expected)
      this.#ahead = await writeIndexesAhead(this.#parts.storage, draft, this.#storeSignal)
    } catch {
      // What cannot be written now is written by the commit, whose failure counts.
    }
  }

  async publish(state: Published, onProgress: OnProgress): Promise<string> {
    const { storage } = this.#parts
    const { complete } = state
    const draft = this.#draft(state)
    const quiet = { quietMs: this.#quietMs, nowMs: this.#parts.clock.now() }
    if (this.#newest && saysNothingNew(draft.manifest, this.#newest, quiet)) {
      return `generation ${this.#newest.generation}`
    }
    const { manifest, isEarlier } = await commitGeneration(storage, draft, this.#storeSignal)
    this.#attempt = 1
    this.#newest = manifest
    this.carried = new Map()
    settleCommitted(manifest.topics, state)
    // An attempt with a lost response has committed less than the current state.
    if (isEarlier) return this.publish(state, onProgress)
    for (const message of await renewCopies(storage, manifest, this.#storeSignal)) {
      onProgress({ type: 'warning', message })
    }
    onProgress({ type: 'committed', generation: manifest.generation, complete })
    return `generation ${manifest.generation}`
  }

  #pending(fresh: ReadonlyMap<string, readonly Segment[]>, indexes: readonly string[]): PendingState {
    const keys = [...[...fresh.values()].flat().map(({ key }) => key), ...indexes, ...sectionKeys(this.#prepared)]
    return { backupId: this.#options.backupId, previous: this.#newest, keys }
  }

  #draft({ complete, warnings, ...state }: Published, freshSegments = draftSegments(this.carried, state)): Draft {
    const confirmSource = state.prepareConfirmation?.()
    const facts = { run: this.run, startedAt: this.#startedAt, newest: this.#newest }
    return {
      attempt: this.#attempt++,
      freshSegments,
      folderOf: this.#parts.encryption?.folderOf,
      ahead: this.#ahead,
      confirm: async indexes => {
        await this.#prepared.stored?.()
        await confirmSource?.()
        await confirmLease(this.#parts, this.#pending(freshSegments, indexes), this.#storeSignal)
      },
      manifest: draftManifest(this.#options, this.#prepared, this.#parts, facts, { complete, warnings, ...state }),
    }
  }
}
