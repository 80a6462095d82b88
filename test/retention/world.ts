import assert from 'node:assert/strict'
import { newestState, readManifest, scanManifests } from '../../src/archive/catalog.ts'
import { commitGeneration } from '../../src/archive/commit.ts'
import { freshKey } from '../../src/archive/incarnation.ts'
import { type FolderOf, segmentKey } from '../../src/archive/layout.ts'
import type { Times } from '../../src/archive/lease.ts'
import type { Manifest, Segment } from '../../src/archive/manifest.ts'
import { renewManifestCopy } from '../../src/archive/newest-copies.ts'
import { emptyPartition, withSegment } from '../../src/archive/summary.ts'
import { type LeaseParts, withLease } from '../../src/archive/writer-lease.ts'
import { type Clock, formatUtc } from '../../src/lib/clock.ts'
import type { BackupOutcome, PruneReport } from '../../src/retention/outcome.ts'
import type { RetentionPolicy } from '../../src/retention/policy.ts'
import { runPrune } from '../../src/retention/prune.ts'
import { ReferenceReader } from '../../src/retention/reference-reader.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { draftManifest, never, storeSegment, topicOf } from '../archive/sample-archive.ts'
import { encodeRun } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR

/** Time passes when a test says so; whoever sleeps is woken then, or by its signal. */
export class HandClock implements Clock {
  #ms = Date.parse('2026-03-15T12:00:00Z')
  #timers = new Set<{ at: number; ring: () => void }>()

  readonly now = (): number => this.#ms

  /** How many wait for a time. */
  get timers(): number {
    return this.#timers.size
  }

  readonly monotonic = (): number => this.#ms

  readonly after = (ms: number, ring: () => void): (() => void) => {
    const timer = { at: this.#ms + ms, ring }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const cancel = this.after(ms, resolve)
      signal?.addEventListener('abort', () => {
        cancel()
        reject(signal.reason)
      })
    })

  pass(ms: number): void {
    this.#ms += ms
    for (const timer of [...this.#timers].filter(({ at }) => at <= this.#ms)) {
      this.#timers.delete(timer)
      timer.ring()
    }
  }
}

export interface CommitSpec {
  partitions?: number
  segments?: number
  complete?: boolean
  configs?: Record<string, string>
  /** The policy in force; null where the backup does not say it. */
  cleanupPolicy?: string | null
  /** When its run began. */
  startedMs?: number
  /** By the clock of its writer, which may be wrong. */
  createdMs?: number
  folderOf?: FolderOf | undefined
}

/** A location in memory with backups that grow by whole segments of ten records. */
export class World {
  readonly clock = new HandClock()
  /** How far the clock of the store is ahead of that of the machine. */
  storeAheadMs = 0
  readonly storage = openMemoryStorage({ now: () => this.clock.now() + this.storeAheadMs })
  #runs = 0

  readonly newRun = (): string => `run${String(++this.#runs).padStart(4, '0')}`

  times(): Times {
    return { storeMs: this.clock.now() + this.storeAheadMs, machineMs: this.clock.now() }
  }

  /** Another world with the same objects, at the same time. */
  clone(): World {
    const other = new World()
    other.clock.pass(this.clock.now() - other.clock.now())
    other.#runs = this.#runs
    for (const [key, body] of this.storage.objects) other.storage.objects.set(key, body)
    for (const [key, ms] of this.storage.modified) other.storage.modified.set(key, ms)
    return other
  }

  partsAt(storage: Storage = this.storage): LeaseParts {
    const { clock, newRun } = this
    return { storage, clock, newRun, toolVersion: '0.0.0', host: 'h1', pid: 1, onProgress: () => undefined }
  }

  /** Adds a generation with new segments in every partition. */
  async commit(backupId: string, spec: CommitSpec = {}, storage: Storage = this.storage): Promise<Manifest> {
    const {
      partitions: width = 2,
      segments: count = 1,
      complete = true,
      configs = {},
      cleanupPolicy = 'delete',
      startedMs = this.clock.now(),
      folderOf,
    } = spec
    const { manifest: previous } = await newestState(storage, backupId, never)
    const run = this.newRun()
    const fresh = new Map<string, Segment[]>()
    const partitions = []
    for (let number = 0; number < width; number++) {
      let partition = previous?.topics[0]?.partitions[number] ?? emptyPartition(number, 0n)
      const added: Segment[] = []
      for (let i = 0; i < count; i++) {
        const place = { backupId, topic: 'orders', partition: number, folderOf }
        const key = segmentKey(place, partition.end_offset, run, false)
        const segment = await storeSegment(storage, key, [encodeRun(partition.end_offset, 10)], false)
        added.push(segment)
        partition = withSegment(partition, segment, 0, [])
      }
      fresh.set(freshKey({ id: 'id-orders' }, number), added)
      partitions.push(partition)
    }
    const inForce = cleanupPolicy !== null && { effective_configs: { 'cleanup.policy': cleanupPolicy, ...configs } }
    const draft = draftManifest([topicOf('orders', partitions, { configs, ...inForce })], {
      backup_id: backupId,
      generation: (previous?.generation ?? 0) + 1,
      run,
      complete,
      created_at: formatUtc(spec.createdMs ?? this.clock.now()),
      started_at: formatUtc(startedMs),
    })
    const { manifest } = await commitGeneration(
      storage,
      { manifest: draft, freshSegments: fresh, attempt: 1, folderOf },
      never,
    )
    await renewManifestCopy(storage, manifest, never)
    return manifest
  }

  /** What a run that died has left behind. */
  async stray(backupId: string, at = 1000n): Promise<string> {
    const key = segmentKey({ backupId, topic: 'orders', partition: 0 }, at, this.newRun(), false)
    await storeSegment(this.storage, key, [encodeRun(at, 10)], false)
    return key
  }

  async prune(
    policy: Partial<RetentionPolicy> = {},
    { isDryRun = false, storage = this.storage }: { isDryRun?: boolean; storage?: Storage } = {},
  ): Promise<PruneReport> {
    const whole = { match: ['*'], graceMs: DAY, ...policy }
    return runPrune(whole, this.partsAt(storage), { isDryRun }, never)
  }

  async pruneOne(policy: Partial<RetentionPolicy> = {}, isDryRun = false): Promise<BackupOutcome> {
    const { backups } = await this.prune(policy, { isDryRun })
    return backups[0] ?? assert.fail('there is no backup')
  }

  hold<T>(backupId: string, role: 'reader' | 'writer' | 'prune', work: () => Promise<T>): Promise<T> {
    return withLease(this.partsAt(), { backupId, role, kind: role }, never, work)
  }

  keys(prefix = ''): string[] {
    return [...this.storage.objects.keys()].filter(key => key.startsWith(prefix)).sort()
  }

  async generations(backupId: string): Promise<number[]> {
    return [...(await scanManifests(this.storage, backupId, never)).manifests.keys()]
  }

  /** Keys that a manifest of any backup names and that are not there. */
  async missing(): Promise<string[]> {
    const ids = new Set(this.keys().map(key => key.split('/')[0] ?? ''))
    const missing: string[] = []
    for (const id of ids) {
      const reader = new ReferenceReader(this.storage)
      for (const generation of await this.generations(id)) {
        const manifest = await readManifest(this.storage, id, generation, never)
        const named = await reader.read(manifest, never)
        missing.push(...[...named].filter(key => !this.storage.objects.has(key)).map(key => `${generation}: ${key}`))
      }
    }
    return missing
  }
}
