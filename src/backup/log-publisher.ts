import type { PendingState } from '../archive/assert-undisturbed.ts'
import { type Draft, lineageOf } from '../archive/commit.ts'
import { freshKey, rereadKey } from '../archive/incarnation.ts'
import { stateOf } from '../archive/log/as-manifest.ts'
import type { State } from '../archive/log/change.ts'
import type { CommitFacts } from '../archive/log/commit-log.ts'
import type { LogWriter } from '../archive/log/log-writer.ts'
import type { PackSet } from '../archive/log/pack-set.ts'
import { planChange } from '../archive/log/plan-change.ts'
import type { ListRow } from '../archive/log/row-change.ts'
import type { Manifest, Segment } from '../archive/manifest.ts'
import { KafkaBackupError } from '../errors.ts'
import { formatUtc } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { BackupOptions } from './backup-options.ts'
import { draftManifest, saysNothingNew, sectionKeys } from './draft-manifest.ts'
import { draftSegments, settleCommitted } from './draft-topics.ts'
import type { BackupParts, Prepared } from './round.ts'
import { confirmLease, type Published, type Publisher } from './session.ts'

type PublisherParts = Pick<BackupParts, 'storage' | 'clock' | 'newRun' | 'toolVersion' | 'encryption' | 'lease'>

interface PublisherOptions {
  /** Segments of shards, which this run only commits. */
  carried?: ReadonlyMap<string, readonly Segment[]>
  /** So long after the last generation, one that would say nothing new is not made. */
  quietMs?: number
  /** What remains to be done after each commit. */
  afterCommit?: (newest: Manifest, onProgress: OnProgress) => Promise<void>
}

/** Publishes what is durable as the next commit of a log. `prepared.previous` is the newest generation of that log. */
export class LogPublisher implements Publisher {
  readonly run: string
  readonly packs: PackSet | undefined
  carried: ReadonlyMap<string, readonly Segment[]>
  readonly #isGathered: boolean
  readonly #log: LogWriter
  readonly #options: BackupOptions
  readonly #prepared: Prepared
  readonly #parts: PublisherParts
  readonly #own: Pick<PublisherOptions, 'afterCommit'> & { quietMs: number }
  readonly #startedAt: string
  /** The store finishes what it began, also after a Ctrl-C. */
  readonly #storeSignal = new AbortController().signal
  /** What this run has published last. Merges that were committed with it are not part of it. */
  #published: State
  #draft: Draft['manifest'] | undefined
  /** Lists of partitions that were read again, and have taken the place of the older ones in a commit of this run. */
  readonly #switched = new Set<string>()

  constructor(
    log: LogWriter,
    options: BackupOptions,
    prepared: Prepared,
    parts: PublisherParts,
    { carried, quietMs = 0, afterCommit }: PublisherOptions = {},
  ) {
    this.run = parts.newRun()
    this.packs = log.openPacks(this.run, this.#storeSignal)
    this.carried = carried ?? new Map()
    this.#isGathered = carried !== undefined
    this.#log = log
    this.#options = options
    this.#prepared = prepared
    this.#parts = parts
    this.#own = { quietMs, ...(afterCommit && { afterCommit }) }
    this.#startedAt = formatUtc(parts.clock.now())
    this.#published = log.state
  }

  /** The newest generation that this process knows to be committed. */
  get newest(): Manifest {
    if (this.#log.newest) return this.#log.newest
    throw new KafkaBackupError('INTERNAL', 'nothing is committed yet')
  }

  async publish(state: Published, onProgress: OnProgress): Promise<string> {
    const draft = this.#draftManifest(state)
    const confirmSource = state.prepareConfirmation?.()
    const known = this.#log.newest && { ...this.#log.newest, ...this.#draft }
    const quiet = { quietMs: this.#own.quietMs, nowMs: this.#parts.clock.now() }
    if (known && !this.#log.hasOverdueMerges && saysNothingNew(draft, known, quiet))
      return `generation ${known.generation}`
    const added = draftSegments(this.carried, state)
    const next = stateOf(draft)
    const replaced = await this.#findSwitched(state, next, added)
    const countOf = (list: string) => this.#log.state.lists.get(list)?.segments ?? 0
    const change = planChange({ before: this.#published, after: next, added, replaced, countOf })
    const confirm = async (merged: readonly string[]) => {
      await this.#prepared.stored?.()
      await confirmSource?.()
      await confirmLease(this.#parts, this.#pending(added, merged), this.#storeSignal)
    }
    const { isEarlier } = await this.#log.commit(factsOf(draft), change, confirm, this.#storeSignal)
    if (isEarlier) throw this.#unheard()
    this.#published = next
    for (const list of replaced.keys()) this.#switched.add(list)
    this.#draft = draft
    this.carried = new Map()
    settleCommitted(draft.topics, state)
    const { newest } = this
    await this.#own.afterCommit?.(newest, onProgress)
    onProgress({ type: 'committed', generation: newest.generation, complete: newest.complete })
    return `generation ${newest.generation}`
  }

  #draftManifest(state: Published): Draft['manifest'] {
    const facts = { run: this.run, startedAt: this.#startedAt, newest: this.#log.newest }
    const draft = draftManifest(this.#options, this.#prepared, this.#parts, facts, state)
    return { ...draft, ...lineageOf(draft) }
  }

  /** Lists that were read again to their end take the place of the partitions' own: with all that they have, stored and new. */
  async #findSwitched(
    { rereads }: Published,
    next: State,
    added: ReadonlyMap<string, readonly Segment[]>,
  ): Promise<Map<string, readonly Segment[]>> {
    const switched = new Map<string, readonly Segment[]>()
    // As they are in the draft: while the list of one is read, another may reach its end.
    const drafted = rereads
      .filter(({ isCaughtUp, hasGap }) => isCaughtUp && !hasGap)
      .map(({ identity, partition, durable, fresh }) => ({ identity, partition, durable, fresh }))
    for (const { identity, partition, durable, fresh } of drafted) {
      const list = freshKey(identity, partition)
      if (this.#switched.has(list)) continue
      // Without one of this run or an earlier one in the log, it begins with what is new.
      const isStored = durable.segments > fresh.length
      const stored = isStored ? await this.#log.readList(rereadKey(identity, partition), this.#storeSignal) : []
      switched.set(list, [...stored, ...fresh])
    }
    for (const list of this.#isGathered ? findGathered(this.#published, next, added) : []) {
      const stored = await this.#log.readList(`reread/${list}`, this.#storeSignal)
      switched.set(list, [...stored, ...(added.get(list) ?? [])])
    }
    return switched
  }

  #pending(added: ReadonlyMap<string, readonly Segment[]>, merged: readonly string[]): PendingState {
    const keys = new Set([...[...added.values()].flat().map(({ key }) => key), ...merged])
    const { backupId } = this.#options
    return { backupId, previous: this.#log.newest, keys: [...keys, ...sectionKeys(this.#prepared)] }
  }

  /** What it holds is less than what is durable; the next round continues from it. */
  #unheard(): KafkaBackupError {
    const { generation } = this.newest
    const message = `generation ${generation} was committed by an earlier attempt of this run, whose reply was lost`
    return new KafkaBackupError('STORAGE_UNAVAILABLE', message, { help: 'Run the same command again.' })
  }
}

function factsOf({ tool_version, run, complete, created_at, started_at }: Draft['manifest']): CommitFacts {
  return { tool_version, run, complete, created_at, started_at }
}

/**
 * Pure. Lists that a shard has read again to their end, where an earlier run has begun that: the shard's document says what the list is now, not
 * where it comes from. Its sums are those of the reread and what is new.
 */
export function findGathered(
  before: State,
  after: State,
  added: ReadonlyMap<string, readonly Segment[]>,
): readonly string[] {
  return [...after.lists].flatMap(([list, row]) => {
    const [own, reread] = [before.lists.get(list), before.lists.get(`reread/${list}`)]
    if (!own || !reread || after.lists.has(`reread/${list}`)) return []
    const fresh = added.get(list) ?? []
    if (!isSumOf(row, reread, fresh)) return []
    const isEither = isSumOf(row, own, fresh) && row.compaction?.began_at === own.compaction?.began_at
    return isEither ? [] : [list]
  })
}

function isSumOf(row: ListRow, base: ListRow, fresh: readonly Segment[]): boolean {
  const sum = (pick: (segment: Segment) => number) => fresh.reduce((total, one) => total + pick(one), 0)
  return (
    row.start_offset === base.start_offset &&
    row.segments === base.segments + fresh.length &&
    row.records === base.records + sum(one => one.records) &&
    row.batches === base.batches + sum(one => one.batches) &&
    row.bytes === base.bytes + sum(one => one.plain_size)
  )
}
