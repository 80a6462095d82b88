import { assertUndisturbed, type PendingState } from '../archive/assert-undisturbed.ts'
import type { Lease } from '../archive/held-lease.ts'
import { freshKey, rereadKey } from '../archive/incarnation.ts'
import { rereadRun } from '../archive/layout.ts'
import type { PackSet } from '../archive/log/pack-set.ts'
import type { ArchiveEncryption, Segment } from '../archive/manifest.ts'
import type { Clock } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import type { BackupOptions } from './backup-options.ts'
import type { BackupPlan } from './backup-plan.ts'
import type { Copies } from './draft-topics.ts'
import { PartitionCopy } from './partition-copy.ts'

/** Makes what is durable count: as a generation of the backup, or as the part that one of several processes has done. */
export interface Publisher {
  /** The name under which this run's objects are stored. */
  readonly run: string
  /** Segments that were durable before this run, but are in no index yet; by `freshKey`. */
  readonly carried: ReadonlyMap<string, readonly Segment[]>
  /** Where small appends go; without it each is a segment. */
  readonly packs?: PackSet | undefined
  /** Writes what `publish` will need once these copies are durable, as far as that is known. Nothing of it counts before; it never rejects. */
  prepare?(copies: Copies): Promise<void>
  /** Answers with what it made, in words for a message. */
  publish(state: Published, onProgress: OnProgress): Promise<string>
}

export interface Published extends Copies {
  /** Notes what is durable now of topics that were read by name; what it answers with confirms that, before it counts. */
  prepareConfirmation?: () => () => Promise<void>
  /** Every partition has reached the end that the plan fixed. */
  complete: boolean
  warnings: readonly string[]
}

/** Before anything counts: a run that was taken for dead in between may have lost what it has stored. */
export async function confirmLease(
  { lease, storage }: { lease?: Pick<Lease, 'confirm' | 'others'> | undefined; storage: Storage },
  pending: PendingState,
  signal: AbortSignal,
): Promise<void> {
  await lease?.confirm(() => assertUndisturbed(storage, lease, pending, signal), signal)
}

interface SessionParts {
  storage: Storage
  storeSignal: AbortSignal
  clock: Clock
  onProgress: OnProgress
  encryption?: ArchiveEncryption | undefined
  prepareConfirmation?: (copies: Copies) => () => Promise<void>
}

/** One run's view of the backup: the partitions being copied, and the commits that make what they have durable count. */
export class BackupSession implements Copies {
  readonly copies: PartitionCopy[]
  /** Lists of compacted partitions that are read again; each begins when all copies are done. */
  readonly rereads: PartitionCopy[]
  readonly #warnings: readonly string[]
  readonly #publisher: Publisher
  readonly #parts: SessionParts
  #published = 0
  #made: string | undefined
  #isComplete = false
  #committing: Promise<unknown> = Promise.resolve()

  constructor(options: BackupOptions, { plan }: { plan: BackupPlan }, parts: SessionParts, publisher: Publisher) {
    this.#warnings = [...plan.warnings, ...(plan.carriedWarnings ?? [])]
    this.#publisher = publisher
    this.#parts = parts
    const { storage, storeSignal, encryption, clock } = parts
    const { run, carried, packs } = publisher
    const folderOf = encryption?.folderOf
    const copyParts = { storage, run, storeSignal, options, folderOf, packs, now: () => clock.now() }
    const current = plan.topics.filter(topic => topic.state === 'current')
    const planned = current.flatMap(topic => topic.partitions.map(one => ({ topic, one })))
    this.copies = planned.map(({ topic, one }) => {
      const fresh = carried.get(freshKey(topic, one.durable.partition))
      return new PartitionCopy(topic, one, options.backupId, copyParts, { fresh })
    })
    this.rereads = planned.flatMap(({ topic, one: { reread, end } }) => {
      if (!reread) return []
      const { durable } = reread
      const fresh = carried.get(rereadKey(topic, durable.partition))
      const own = { ...copyParts, run: rereadRun(run) }
      return [new PartitionCopy(topic, { durable, end }, options.backupId, own, { fresh, isReread: true })]
    })
    this.#published = this.#countSegments()
  }

  /**
   * All copies are durable, and count from here on; what is read again takes longer. Commits on the way say of themselves
   * what this one says.
   */
  async beginRereads(complete: boolean, warnings: readonly string[]): Promise<void> {
    this.#isComplete = complete
    await this.commit(complete, warnings)
  }

  /** Whether there is more durable than what was published last. */
  get hasFresh(): boolean {
    return this.#countSegments() > this.#published
  }

  /** What this run published last, in words; undefined where it has published nothing. */
  get made(): string | undefined {
    return this.#made
  }

  /** Commits one after the other; each names what is durable at its moment. */
  commit(complete: boolean, warnings: readonly string[]): Promise<string> {
    const run = this.#committing.then(async () => {
      const segments = this.#countSegments()
      const { prepareConfirmation } = this.#parts
      const confirming = prepareConfirmation && { prepareConfirmation: () => prepareConfirmation(this) }
      const state = { copies: this.copies, rereads: this.rereads, complete, warnings, ...confirming }
      const made = await this.#publisher.publish(state, this.#parts.onProgress)
      this.#published = segments
      this.#made = made
      return made
    })
    this.#committing = run.catch(() => undefined)
    return run
  }

  /**
   * Commits from time to time while copying continues, so that a crash loses only the last interval. Segments that
   * are still open are closed for it: behind a slow source or a rate limit they would stay so for hours.
   */
  async commitPeriodically(periodMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const slept = await this.#parts.clock.sleep(periodMs, signal).then(
        () => true,
        () => false,
      )
      if (!slept) return
      const open = [...this.copies, ...this.rereads].filter(copy => !copy.isSettled)
      const rolled = await Promise.all(open.map(copy => copy.roll()))
      await this.#publisher.packs?.flush()
      await Promise.all(rolled.map(({ durable }) => durable))
      // What was read to its end is stored no more, so no store call throws its failure.
      const failed = open.find(copy => copy.isDone && copy.failure !== undefined)
      if (failed) throw failed.failure
      if (this.hasFresh) await this.commit(this.#isComplete, this.#warnings)
    }
  }

  /** Makes everything durable that these copies have stored. */
  async settle(copies: readonly PartitionCopy[]): Promise<void> {
    const handed = Promise.all(copies.filter(copy => !copy.isHanded).map(copy => copy.hand()))
    // While the last segments are on their way.
    const prepared = this.rereads.length === 0 ? this.#publisher.prepare?.(this) : undefined
    try {
      await handed
      await this.#publisher.packs?.flush()
      for (const copy of copies) if (!copy.isSettled) await copy.settled()
    } finally {
      await prepared
    }
  }

  /** As much of it as can be, after something has failed; what cannot be finished stays at its last segment. */
  async settleSome(): Promise<void> {
    const all = [...this.copies, ...this.rereads]
    await Promise.all(all.map(copy => copy.hand().catch(() => copy.abort())))
    await this.#publisher.packs?.flush()
    await Promise.all(all.map(copy => copy.settled().catch(() => undefined)))
  }

  #countSegments(): number {
    return [...this.copies, ...this.rereads].reduce((sum, copy) => sum + copy.durable.segments, 0)
  }
}
