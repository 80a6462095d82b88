import { effectiveSetting, isCompacted } from '../archive/effective-settings.ts'
import type { Compaction, ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import { emptyPartition } from '../archive/summary.ts'
import type { PartitionBounds } from '../kafka/offsets.ts'
import type { PlannedCompaction, PlannedPartition, PlannedReread, RereadReason, RereadRules } from './backup-plan.ts'
import type { ObservedPartition, ObservedTopic } from './observed-source.ts'

interface Facts {
  topic: Pick<ObservedTopic, 'configs' | 'effectiveConfigs'>
  bounds: PartitionBounds
  sizeBytes?: ObservedPartition['sizeBytes']
  before: ManifestPartition | undefined
  /** The topic as the newest generation has it. */
  known?: Pick<ManifestTopic, 'configs' | 'effective_configs'> | undefined
  /** When those settings were read, if that was before the generation. */
  knownAt?: string | undefined
  observedAt: string
  rules: RereadRules
}

/** Of the time that tombstones stay, a tenth is left to the clocks and to a cleaner that runs for long. */
const SAFE_SHARE = 0.9
const DEFAULT_DELETE_RETENTION_MS = 0
/** The backup may hold so many times what it needs. */
const TOO_LARGE = 2
/** Where sizes are not told, a log may be read for nothing, and at most this often. */
const GROWTH_INTERVAL_MS = 86_400_000

/**
 * Pure. Adds to the plan of a partition what compaction asks for. A tombstone stays for `delete.retention.ms` at least. Who
 * reads later than that after the last time may find neither the tombstone nor the key, and has the key for ever: only
 * reading all of the log again tells what was deleted.
 */
export function planCompaction(planned: PlannedPartition, facts: Facts): PlannedPartition {
  const { topic, before, observedAt } = facts
  const settings = { configs: topic.configs, effective_configs: topic.effectiveConfigs }
  const isCompactedNow = isCompacted(settings) ?? false
  if (!isCompactedNow && !before?.compaction) return planned
  const deleteRetentionMs = toMs(effectiveSetting(settings, 'delete.retention.ms'))
  const compacted = { observedAt, deleteRetentionMs, isCompacted: isCompactedNow }
  const { compaction: judged, reason } = judge(facts, deleteRetentionMs)
  const compaction = withBase(judged, facts)
  const { reread: _, ...durable } = planned.durable
  const reread = planReread(facts, compaction, reason)
  return { ...planned, durable: { ...durable, compaction }, compacted, ...(reread && { reread }) }
}

/** Pure. What the manifest says of a list that has been read up to the observed end. */
export function caughtUp(
  { began_at, current_at, may_hold_deleted_keys: wasSuspect, base_bytes, source_bytes }: Compaction,
  { observedAt, deleteRetentionMs }: PlannedCompaction,
  { end, doneAtMs, bytes }: { end: bigint; doneAtMs: number; bytes: number },
): Compaction {
  const isLate = !isCovered(current_at, doneAtMs, deleteRetentionMs)
  const base = base_bytes ?? (began_at === current_at ? bytes : undefined)
  return {
    began_at,
    current_at: observedAt,
    current_end: end,
    may_hold_deleted_keys: wasSuspect || isLate,
    ...(base !== undefined && { base_bytes: base }),
    ...(source_bytes !== undefined && { source_bytes }),
  }
}

/** Pure. Of a topic with `compact,delete` the backup also holds what has expired at the source, and is to keep it. */
export function isOnlyCompacted({ configs, effectiveConfigs }: Facts['topic']): boolean {
  return effectiveSetting({ configs, effective_configs: effectiveConfigs }, 'cleanup.policy') === 'compact'
}

/** Pure. Whether it is worth to ask the source how large the log is. */
export function mayBeTooLarge(
  { bytes, records, compaction, reread }: ManifestPartition,
  { intervalMs }: RereadRules,
  observedAt: string,
): boolean {
  const isDue = ageMs(compaction?.began_at ?? null, observedAt) >= intervalMs
  return records > 0 && !reread && isDue && bytes > TOO_LARGE * smallest(compaction)
}

/**
 * What a list held when it was read last, if that was more than the source had let expect: a log that does not shrink is not
 * read again and again, but only when the list has grown to a multiple of that.
 */
function smallest({ base_bytes = 0, source_bytes }: Partial<Compaction> = {}): number {
  return source_bytes !== undefined && base_bytes > TOO_LARGE * source_bytes ? base_bytes : 0
}

function ageMs(since: string | null, now: string): number {
  return since === null ? Number.POSITIVE_INFINITY : Date.parse(now) - Date.parse(since)
}

/** Where it is not known what a list held at first, and the source does not tell its size, it counts from here on. */
function withBase(compaction: Compaction, { before, sizeBytes }: Facts): Compaction {
  if (!before || sizeBytes !== 'denied' || compaction.base_bytes !== undefined) return compaction
  return { ...compaction, base_bytes: before.bytes }
}

function judgeSize(facts: Facts, { began_at }: Compaction): RereadReason | undefined {
  const { topic, before, sizeBytes, observedAt, rules } = facts
  if (!before || sizeBytes === undefined || !isOnlyCompacted(topic)) return undefined
  if (!mayBeTooLarge(before, rules, observedAt)) return undefined
  if (sizeBytes !== 'denied') return before.bytes > TOO_LARGE * sizeBytes ? 'size' : undefined
  const { base_bytes = before.bytes } = before.compaction ?? {}
  const hasDoubled = before.bytes > TOO_LARGE * base_bytes
  return hasDoubled && ageMs(began_at, observedAt) >= GROWTH_INTERVAL_MS ? 'growth' : undefined
}

/** Pure. Whether tombstones that came after the one time are still there at the other. */
function isCovered(fromUtc: string, toMs: number, deleteRetentionMs: number): boolean {
  const elapsedMs = toMs - Date.parse(fromUtc)
  // A clock that was set back tells nothing.
  return elapsedMs <= SAFE_SHARE * deleteRetentionMs && elapsedMs >= -(1 - SAFE_SHARE) * deleteRetentionMs
}

/**
 * Where tombstones are kept for a shorter time now, they may be so since the settings were read last: what later rounds have
 * read counts only from there on.
 */
function coveredFrom({ current_at }: Compaction, { known, knownAt }: Facts, deleteRetentionMs: number): string {
  if (!known || knownAt === undefined || knownAt >= current_at) return current_at
  return toMs(effectiveSetting(known, 'delete.retention.ms')) > deleteRetentionMs ? knownAt : current_at
}

function judge(facts: Facts, deleteRetentionMs: number): { compaction: Compaction; reason: RereadReason | undefined } {
  const { bounds, before, observedAt } = facts
  const now = { began_at: observedAt, current_at: observedAt }
  // Nothing that is not there can come back.
  if (!before || before.records === 0) {
    const current_end = before?.end_offset ?? bounds.logStart
    return { compaction: { ...now, current_end, may_hold_deleted_keys: false }, reason: undefined }
  }
  const known = before.compaction
  if (!known) {
    const suspect = { current_end: before.end_offset, may_hold_deleted_keys: true }
    return { compaction: { began_at: null, current_at: observedAt, ...suspect }, reason: 'unknown' }
  }
  if (known.may_hold_deleted_keys) return { compaction: known, reason: 'suspect' }
  // Where nothing was written since, no key was deleted.
  const from = coveredFrom(known, facts, deleteRetentionMs)
  if (bounds.highWatermark === known.current_end && from === known.current_at) {
    return { compaction: { ...known, current_at: observedAt }, reason: undefined }
  }
  if (isCovered(from, Date.parse(observedAt), deleteRetentionMs)) {
    return { compaction: known, reason: undefined }
  }
  return { compaction: { ...known, may_hold_deleted_keys: true }, reason: 'late' }
}

function planReread(facts: Facts, current: Compaction, found: RereadReason | undefined): PlannedReread | undefined {
  const { bounds, before, observedAt, rules } = facts
  const { began_at } = current
  if (!before || before.records === 0 || rules.mode === 'never') return undefined
  const seen = { high_watermark: bounds.highWatermark, last_stable_offset: bounds.lastStable }
  const pending = before.reread
  const other = rules.mode === 'always' ? 'always' : pending ? 'size' : judgeSize(facts, current)
  const reason = found ?? other
  if (!reason) return undefined
  // What has expired meanwhile is missing from a list that was begun before: another one begins behind it.
  if (pending && bounds.logStart <= pending.end_offset) return { durable: { ...pending, ...seen }, reason }
  const elapsedMs = ageMs(began_at, observedAt)
  if (elapsedMs >= 0 && elapsedMs < rules.intervalMs) return undefined
  const { sizeBytes } = facts
  const told = typeof sizeBytes === 'number' && { source_bytes: sizeBytes }
  const compaction = { began_at: observedAt, current_at: observedAt, current_end: bounds.logStart, ...told }
  const fresh = { ...emptyPartition(before.partition, bounds.logStart), ...seen }
  return { durable: { ...fresh, compaction: { ...compaction, may_hold_deleted_keys: false } }, reason }
}

/** What cannot be read counts as no time at all. */
function toMs(text: string | undefined): number {
  const ms = Number(text)
  return text === undefined || Number.isNaN(ms) ? DEFAULT_DELETE_RETENTION_MS : ms
}
