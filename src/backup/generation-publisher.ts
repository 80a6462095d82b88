import type { PendingState } from '../archive/assert-undisturbed.ts'
import { commitGeneration, type Draft } from '../archive/commit.ts'
import { effectiveSetting, isCompacted } from '../archive/effective-settings.ts'
import type { Manifest, Segment } from '../archive/manifest.ts'
import { renewCopies } from '../archive/newest-copies.ts'
import { KafkaBackupError } from '../errors.ts'
import { formatUtc } from '../lib/clock.ts'
import { formatJson } from '../lib/json.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { BackupOptions } from './backup-options.ts'
import { draftSegments, draftTopics, settleCommitted } from './draft-topics.ts'
import type { BackupParts, Prepared } from './round.ts'
import { confirmLease, type Published, type Publisher } from './session.ts'

/** The time up to which deletions are known is committed well before it is too old to continue from. */
const QUIET_SHARE = 0.25

type PublisherParts = Pick<BackupParts, 'storage' | 'clock' | 'newRun' | 'toolVersion' | 'encryption' | 'lease'>

interface PublisherOptions {
  carried?: ReadonlyMap<string, readonly Segment[]>
  /** So long after the last generation, one that would say nothing new is not made. */
  quietMs?: number
}

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

  async publish(state: Published, onProgress: OnProgress): Promise<string> {
    const { storage } = this.#parts
    const { complete } = state
    const draft = this.#draft(state)
    if (this.#newest && this.#saysNothingNew(draft, this.#newest)) return `generation ${this.#newest.generation}`
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

  /** The section files are of this run, too, where it has just read them. */
  #pending(fresh: ReadonlyMap<string, readonly Segment[]>): PendingState {
    const { groups, access } = this.#prepared
    const files = [groups?.state === 'taken' ? groups.key : undefined, access?.key]
    const keys = [...[...fresh.values()].flat().map(({ key }) => key), ...files.filter(key => key !== undefined)]
    return { backupId: this.#options.backupId, previous: this.#newest, keys }
  }

  #saysNothingNew({ manifest }: Draft, newest: Manifest): boolean {
    const ageMs = this.#parts.clock.now() - Date.parse(newest.created_at)
    // One that bears a time to come, after a clock was set back, would keep the backup quiet until then.
    const quietMs = Math.min(this.#quietMs, shortestTerm(manifest.topics) * QUIET_SHARE)
    if (ageMs < 0 || ageMs >= quietMs || manifest.complete !== newest.complete) return false
    return formatJson(contentOf(manifest)) === formatJson(contentOf(newest))
  }

  #draft({ complete, warnings, ...state }: Published): Draft {
    const { clock, toolVersion, encryption } = this.#parts
    const { observed, groups, access, registry = this.#newest?.schema_registry } = this.#prepared
    const { backupId, topics } = this.#options
    const lineage = this.#newest?.lineage
    const freshSegments = draftSegments(this.carried, state)
    return {
      attempt: this.#attempt++,
      freshSegments,
      folderOf: encryption?.folderOf,
      confirm: () => confirmLease(this.#parts, this.#pending(freshSegments), this.#storeSignal),
      manifest: {
        tool_version: toolVersion,
        backup_id: backupId,
        generation: (this.#newest?.generation ?? 0) + 1,
        run: this.run,
        complete,
        created_at: formatUtc(clock.now()),
        started_at: this.#startedAt,
        cluster: { id: observed.clusterId, brokers: observed.brokers },
        selection: { include: [...topics.include], exclude: [...topics.exclude] },
        topics: draftTopics(this.#prepared.plan, state),
        // The schemas of a backup stay in it, as topics do that are no longer copied.
        ...(registry && { schema_registry: registry }),
        ...(groups && { consumer_groups: groups }),
        ...(encryption && { encryption: encryption.section }),
        ...(access && { access }),
        ...(lineage !== undefined && { lineage }),
        warnings: [...warnings],
      },
    }
  }
}

/** How long the compacted topics keep tombstones, at least. */
function shortestTerm(topics: Manifest['topics']): number {
  const terms = topics
    .filter(topic => topic.state === 'current' && isCompacted(topic))
    .map(topic => Number(effectiveSetting(topic, 'delete.retention.ms')))
  return terms.filter(ms => !Number.isNaN(ms)).reduce((least, ms) => Math.min(least, ms), Number.POSITIVE_INFINITY)
}

/** What counts as news; how far an open transaction holds the end back is only a reading. */
function contentOf(
  manifest: Pick<Manifest, 'selection' | 'topics' | 'warnings' | 'schema_registry' | 'consumer_groups' | 'access'>,
): unknown {
  const { selection, topics, warnings } = manifest
  const registry = manifest.schema_registry && { ...manifest.schema_registry, backup_timestamp: '' }
  const groups = manifest.consumer_groups && { ...manifest.consumer_groups, taken_at: '' }
  const access = manifest.access && { ...manifest.access, taken_at: '' }
  const partitions = topics.flatMap(topic =>
    topic.partitions.map(({ high_watermark, last_stable_offset, indexes, compaction, reread, ...rest }) => ({
      ...rest,
      isSuspect: compaction?.may_hold_deleted_keys,
      reread: reread && [reread.start_offset, reread.segments, reread.end_offset],
    })),
  )
  const others = topics.map(({ partitions: _, ...rest }) => rest)
  return { selection, warnings, registry, groups, access, partitions, topics: others }
}
