import * as z from 'zod'
import { hasCode } from '../errors.ts'
import { oneLine } from '../lib/one-line.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { leasesPrefix } from './layout.ts'
import { count } from './scalars.ts'

/** A process that uses a backup holds a lease, and renews it while it works. */
export const leaseSchema = z.object({
  format: z.literal('kafka-backup-lease'),
  format_version: z.literal(1),
  /** A `reader` needs all that manifests name, a `writer` what it has not committed yet, and `prune` wants neither there. */
  role: z.enum(['reader', 'writer', 'prune']),
  /** What it does, for people: `restore`, `backup`. */
  kind: z.string(),
  run: z.string(),
  host: z.string(),
  pid: count,
  tool_version: z.string(),
  started_at: z.string(),
  renewed_at: z.string(),
  /** It counts for so long after it was written last. */
  ttl_ms: count,
  /** A hash that processes with the same process table share, and when this one started: both absent where unknown. */
  machine: z.string().exactOptional(),
  process_start: count.exactOptional(),
})

export type LeaseDocument = z.output<typeof leaseSchema>
export type LeaseRole = LeaseDocument['role']

export interface LeaseClaim {
  backupId: string
  role: LeaseRole
  /** What is done, for people: `restore`. */
  kind: string
  ttlMs?: number
  /** What is written to, for messages; the backup where it is not given. */
  where?: string
  /** What to do where another writer is at work. */
  help?: string
  /** Called with the reason where a reader may not write a lease; a note where it is not given. */
  onUnleased?: (reason: string) => void
  /**
   * Called when a writer that works alone has written its lease, while it looks for others, and again if it then had to wait for one:
   * what is read since the last call may only be changed by a writer that ends before it is seen, and then the commit is refused; or by a
   * removal of the whole backup that looked for leases before: it has removed the generations then, but not the keys.
   */
  onWritten?: () => void
}

/** Names a process of a machine: a number alone is given to another process later. */
export interface ProcessIdentity {
  machine: string
  processStart: number
}

export interface FoundLease {
  key: string
  run: string
  role: LeaseRole
  /** What the holder does: `backup`, `shard`. Empty where the lease cannot be read. */
  kind: string
  pid?: number
  identity?: ProcessIdentity
  modifiedMs: number
  ttlMs: number
  /** Who holds it, for a message. */
  holder: string
}

/** The terms of leases. A job can choose another one for its backups, so only these two are the same for every process. */
export const READER_TTL_MS = 300_000
export const PRUNE_TTL_MS = 60_000
/** A killed writer keeps the next one waiting for so long, unless its job says otherwise. */
export const WRITER_TTL_MS = 120_000
/** No term counts for longer, whatever a document says. A lease that cannot be read is taken for a reader's for so long: too careful is safe. */
export const LONGEST_TTL_MS = 3_600_000
const CONCURRENCY = 16
/** A document may hold a megabyte of text, which messages and reports repeat. */
const MAX_HOLDER_CHARS = 300

/** The time by the clock of the store, and by that of this machine. Either may be wrong. */
export interface Times {
  storeMs: number
  machineMs: number
}

/** Pure. By the clock that says less: what is removed is old by both, and what is alive by one is left alone. */
export function ageOf({ modifiedMs }: Pick<StoredObject, 'modifiedMs'>, { storeMs, machineMs }: Times): number {
  return Math.min(storeMs, machineMs) - modifiedMs
}

/** Pure. How far its time lies in the future, by the clock that says less. */
export function leadOf({ modifiedMs }: Pick<StoredObject, 'modifiedMs'>, { storeMs, machineMs }: Times): number {
  return modifiedMs - Math.max(storeMs, machineMs)
}

/**
 * The leases of a backup that live. A lease is dead when it is by both clocks. What processes that died have left behind, or
 * others that may not remove anything, is not even read.
 */
export async function readLiveLeases(
  storage: Storage,
  backupId: string,
  times: Times,
  signal: AbortSignal,
): Promise<FoundLease[]> {
  return readLive(storage, await listLeases(storage, backupId, signal), times, signal)
}

export async function listLeases(storage: Storage, backupId: string, signal: AbortSignal): Promise<StoredObject[]> {
  const objects: StoredObject[] = []
  for await (const object of storage.list(leasesPrefix(backupId), signal)) objects.push(object)
  return objects
}

/** Those of the listed leases that live. */
export async function readLive(
  storage: Storage,
  listed: readonly StoredObject[],
  times: Times,
  signal: AbortSignal,
): Promise<FoundLease[]> {
  const objects = listed.filter(object => ageOf(object, times) <= LONGEST_TTL_MS)
  const found = await runPool(objects, CONCURRENCY, object => readLease(storage, object, signal))
  const byAge = found
    .filter(lease => lease !== undefined)
    .sort((a, b) => a.modifiedMs - b.modifiedMs || renewalOf(a.key) - renewalOf(b.key))
  // Of one that is renewed by further objects the newest counts.
  const newest = [...new Map(byAge.map(lease => [lease.run, lease])).values()]
  return newest.filter(lease => lease.ttlMs > 0 && ageOf(lease, times) <= lease.ttlMs)
}

/**
 * Pure. Whether a process that removes objects takes the holder for alive. It waits for no renewal, so it goes by the time of the
 * object: no lease counts for longer than this program gives it, whatever the document says, and none counts whose time lies further
 * in the future. Without the job of a writer its term is unknown, and may be the longest one.
 */
export function isBelieved(lease: FoundLease, times: Times, writerTtlMs = LONGEST_TTL_MS): boolean {
  const { role, kind, ttlMs } = lease
  const isUnread = kind === ''
  const fixedMs = role === 'prune' ? PRUNE_TTL_MS : READER_TTL_MS
  const longestMs = role === 'writer' || isUnread ? Math.max(writerTtlMs, WRITER_TTL_MS) : fixedMs
  return ageOf(lease, times) <= Math.min(ttlMs, longestMs) && leadOf(lease, times) <= longestMs
}

/** Undefined where it is gone. */
export async function readLease(
  storage: Storage,
  { key, modifiedMs }: Pick<StoredObject, 'key' | 'modifiedMs'>,
  signal: AbortSignal,
): Promise<FoundLease | undefined> {
  try {
    const lease = leaseSchema.parse(JSON.parse((await storage.read(key, signal)).toString('utf8')))
    const who = `${lease.kind} on ${lease.host}, process ${lease.pid}, since ${lease.started_at}`
    const holder = oneLine(who, MAX_HOLDER_CHARS)
    const { run, role, kind, pid, machine, process_start } = lease
    const identity =
      machine === undefined || process_start === undefined ? {} : { identity: { machine, processStart: process_start } }
    return { key, run, role, kind, pid, ...identity, modifiedMs, ttlMs: Math.min(lease.ttl_ms, LONGEST_TTL_MS), holder }
  } catch (error) {
    if (hasCode(error, 'STORAGE_NOT_FOUND')) return undefined
    if (!(error instanceof z.ZodError || error instanceof SyntaxError || hasCode(error, 'ARCHIVE_DAMAGED'))) throw error
    const unread = { role: 'reader', kind: '', holder: `${key}, which cannot be read` } as const
    return { key, run: runOf(key), ...unread, modifiedMs, ttlMs: LONGEST_TTL_MS }
  }
}

function runOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1).replace(/(\.\d+)?\.json$/, '')
}

function renewalOf(key: string): number {
  return Number(/\.(\d+)\.json$/.exec(key)?.[1] ?? 0)
}
