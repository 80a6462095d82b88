import type { Job } from '../config/load-job.ts'
import { usageError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { systemClock } from '../lib/clock.ts'
import type { SnapshotComparison } from '../offsets/compare-snapshot.ts'
import type { LagReport } from '../offsets/lag.ts'
import type { OffsetsPort } from '../offsets/offsets-port.ts'
import type { Origin } from '../offsets/origin.ts'
import type { OffsetsPlan } from '../offsets/plan-reset.ts'
import type { ResetRequest } from '../offsets/reset-request.ts'
import type { PlanReport } from '../offsets/run-plan.ts'
import type { PositionSelection } from '../offsets/select-groups.ts'
import type { OffsetSnapshot } from '../offsets/snapshot.ts'
import type { BookParts, ListedSnapshot, SnapshotBook } from '../offsets/snapshot-book.ts'
import type { StorageOptions } from '../storage/location.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { version } from '../version.ts'
import { openEncryption, openSnapshotVault, type PlaceKeys } from './encryption.ts'
import type { Hooks } from './parts.ts'
import { newRun } from './parts.ts'

type ClusterJob = Extract<Job, { mode: 'restore' }>['target']

/** Which cluster, and where snapshots and backups are. Each is opened when it is needed. */
export interface OffsetsPlace {
  cluster?: ClusterJob | undefined
  storage?: StorageOptions | undefined
  /** What opens encrypted backups there. */
  keys?: PlaceKeys | undefined
  /** A plain snapshot is read also where keys are given. */
  acceptsPlainSnapshot?: boolean
  /** A file that is the one snapshot, in place of those at the storage. */
  file?: { folder: string; name: string } | undefined
  /** The ID of the snapshot that a reset or rollback writes; one that exists is of an earlier attempt. */
  snapshotAs?: string
}

type OnSnapshot = (snapshotId: string) => void

/** What can be done with the positions of groups; `close` ends its connections. */
export interface OffsetsSession {
  list(selection: PositionSelection, signal: AbortSignal): Promise<LagReport>
  /** Positions at the source, for the strategies that translate them. */
  readOrigin(from: { snapshotId: string } | { backupId: string }, signal: AbortSignal): Promise<Origin>
  plan(request: ResetRequest, signal: AbortSignal): Promise<OffsetsPlan>
  reset(request: ResetRequest, onSnapshot: OnSnapshot, signal: AbortSignal): Promise<PlanReport>
  snapshot(groups: readonly string[], signal: AbortSignal): Promise<OffsetSnapshot>
  listSnapshots(signal: AbortSignal): Promise<ListedSnapshot[]>
  removeSnapshot(snapshotId: string, signal: AbortSignal): Promise<void>
  planRollback(snapshotId: string, groups: readonly string[], signal: AbortSignal): Promise<OffsetsPlan>
  rollback(
    snapshotId: string,
    groups: readonly string[],
    onSnapshot: OnSnapshot,
    signal: AbortSignal,
  ): Promise<PlanReport>
  verify(snapshotId: string, isStrict: boolean, signal: AbortSignal): Promise<SnapshotComparison>
  /** How many requests of each kind went to brokers. */
  requests(): Record<string, number>
  close(): Promise<void>
}

export function openOffsets(place: OffsetsPlace, hooks: Hooks): OffsetsSession {
  return new KafkaOffsetsSession(place, hooks)
}

class KafkaOffsetsSession implements OffsetsSession {
  readonly #place: OffsetsPlace
  readonly #hooks: Hooks
  readonly #requests: Record<string, number> = {}
  #cluster: Cluster | undefined
  #storage: Storage | undefined
  #folder: Storage | undefined
  readonly #warned = new Set<string>()

  constructor(place: OffsetsPlace, hooks: Hooks) {
    this.#place = place
    this.#hooks = hooks
  }

  async list(selection: PositionSelection, signal: AbortSignal): Promise<LagReport> {
    const { readLags } = await import('../offsets/lag.ts')
    return readLags(await this.#port(signal), selection, signal)
  }

  async readOrigin(from: { snapshotId: string } | { backupId: string }, signal: AbortSignal): Promise<Origin> {
    if ('backupId' in from) {
      const { readBackupOrigin } = await import('../offsets/origin.ts')
      return readBackupOrigin(this.#openStorage(), from.backupId, this.#hooks.onProgress, signal)
    }
    const { originOfSnapshot } = await import('../offsets/origin.ts')
    return originOfSnapshot(await (await this.#bookAtStorage()).read(from.snapshotId, signal))
  }

  async plan(request: ResetRequest, signal: AbortSignal): Promise<OffsetsPlan> {
    const { planOffsets } = await import('../offsets/plan-offsets.ts')
    return planOffsets(request, await this.#port(signal), signal)
  }

  async reset(request: ResetRequest, onSnapshot: OnSnapshot, signal: AbortSignal): Promise<PlanReport> {
    const book = await this.#book()
    return this.#run(await this.plan(request, signal), book, onSnapshot, signal)
  }

  async snapshot(groups: readonly string[], signal: AbortSignal): Promise<OffsetSnapshot> {
    const { takeSnapshot } = await import('../offsets/take-snapshot.ts')
    const onWarning = (message: string) => this.#hooks.onProgress({ type: 'warning', message })
    return takeSnapshot(groups, { port: await this.#port(signal), book: await this.#book(), onWarning }, signal)
  }

  async listSnapshots(signal: AbortSignal): Promise<ListedSnapshot[]> {
    return (await this.#book()).list(signal)
  }

  async removeSnapshot(snapshotId: string, signal: AbortSignal): Promise<void> {
    await (await this.#book()).remove(snapshotId, signal)
  }

  async planRollback(snapshotId: string, groups: readonly string[], signal: AbortSignal): Promise<OffsetsPlan> {
    const { planRollback } = await import('../offsets/plan-rollback.ts')
    const snapshot = await (await this.#book()).read(snapshotId, signal)
    return planRollback(snapshot, groups, await this.#port(signal), signal)
  }

  async rollback(
    snapshotId: string,
    groups: readonly string[],
    onSnapshot: OnSnapshot,
    signal: AbortSignal,
  ): Promise<PlanReport> {
    const plan = await this.planRollback(snapshotId, groups, signal)
    return this.#run(plan, await this.#bookAtStorage(), onSnapshot, signal)
  }

  async verify(snapshotId: string, isStrict: boolean, signal: AbortSignal): Promise<SnapshotComparison> {
    const { verifySnapshot } = await import('../offsets/compare-snapshot.ts')
    const snapshot = await (await this.#book()).read(snapshotId, signal)
    return verifySnapshot(snapshot, isStrict, await this.#port(signal), signal)
  }

  requests(): Record<string, number> {
    return { ...this.#requests }
  }

  async close(): Promise<void> {
    this.#cluster?.close()
    await this.#storage?.close()
    await this.#folder?.close()
  }

  async #run(plan: OffsetsPlan, book: SnapshotBook, onSnapshot: OnSnapshot, signal: AbortSignal): Promise<PlanReport> {
    const { runPlan } = await import('../offsets/run-plan.ts')
    const { snapshotAs } = this.#place
    const parts = { port: await this.#port(signal), book, onSnapshot, ...(snapshotAs !== undefined && { snapshotAs }) }
    return runPlan(plan, parts, signal)
  }

  async #port(signal: AbortSignal): Promise<OffsetsPort> {
    if (!this.#place.cluster) throw usageError('say which cluster, with --bootstrap-server or --config')
    this.#cluster ??= await this.#openCluster(this.#place.cluster, signal)
    const { kafkaOffsets } = await import('../offsets/kafka-port.ts')
    return kafkaOffsets(this.#cluster)
  }

  async #openCluster(job: ClusterJob, signal: AbortSignal): Promise<Cluster> {
    const { Cluster } = await import('../kafka/cluster.ts')
    const { onProgress } = this.#hooks
    const onRequest = (name: string) => {
      this.#requests[name] = (this.#requests[name] ?? 0) + 1
    }
    const onRetry = (error: unknown, delayMs: number) =>
      onProgress({ type: 'retry', what: error instanceof Error ? error.message : String(error), delayMs })
    return Cluster.open({ ...job, softwareVersion: version, clock: systemClock, onRequest, onRetry }, signal)
  }

  /** Of the file, where there is one. */
  #book(): Promise<SnapshotBook> {
    const { file } = this.#place
    return file === undefined
      ? this.#bookAtStorage()
      : this.#openBook(this.#openFolder(file.folder), { file: file.name })
  }

  /** For snapshots of others, and for that of a rollback whose file exists; next to the file without a storage. */
  #bookAtStorage(): Promise<SnapshotBook> {
    const { storage, file } = this.#place
    return storage || !file ? this.#openSharedBook() : this.#openBook(this.#openFolder(file.folder))
  }

  /** Of a location that others can write to, so that keys count. */
  #openSharedBook(): Promise<SnapshotBook> {
    const { keys = {}, acceptsPlainSnapshot: acceptsPlain = false } = this.#place
    const storage = this.#openStorage()
    const vault = openSnapshotVault(storage, keys)
    const onPlain = (key: string, signal: AbortSignal) => this.#warnOfPlain(key, storage, signal)
    return this.#openBook(storage, { vault, acceptsPlain, onPlain })
  }

  async #openBook(storage: Storage, more: Partial<BookParts> = {}): Promise<SnapshotBook> {
    const { SnapshotBook } = await import('../offsets/snapshot-book.ts')
    return new SnapshotBook({ storage, clock: systemClock, newRun, toolVersion: version, ...more })
  }

  /** Where something at the location is encrypted, its users expect encrypted snapshots too. Warned once for each. */
  async #warnOfPlain(key: string, storage: Storage, signal: AbortSignal): Promise<void> {
    if (this.#warned.has(key)) return
    this.#warned.add(key)
    const { describeEncrypted } = await import('../encryption/describe-encrypted.ts')
    const other = await describeEncrypted(storage, signal)
    if (other === undefined) return
    const message = `${key} is not encrypted, as no key is given, but ${other}: anyone who can write there can change the snapshot. Give a key to encrypt new snapshots`
    this.#hooks.onProgress({ type: 'warning', message })
  }

  #openStorage(): Storage {
    if (!this.#place.storage) throw usageError('say where snapshots are kept, with --path, --file or --config')
    const { storage, keys } = this.#place
    this.#storage ??= openEncryption(openStorage(storage), { storage, ...keys })
    return this.#storage
  }

  #openFolder(path: string): Storage {
    this.#folder ??= openStorage({ backend: 'filesystem', path })
    return this.#folder
  }
}
