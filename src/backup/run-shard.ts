import { latestManifest } from '../archive/catalog.ts'
import { furthest, readShards } from '../archive/shard.ts'
import type { BackupOptions } from './options.ts'
import { type BackupParts, prepareRound, type RoundReport, runRound } from './round.ts'
import { ShardPublisher } from './shard-publisher.ts'
import { observedBy, overlayShards, planShard, type ShardNumber } from './shards.ts'

export interface ShardReport extends RoundReport {
  backupId: string
  /** The generation that this is to be a part of. */
  generation: number
  shard: ShardNumber
  /** Where the shard wrote down what it has. */
  key: string
}

/**
 * Copies one shard's partitions and writes down what it has; nothing of it counts before `commitShards`. A shard that was
 * killed goes on from the last document that it, or an earlier run of it, had written.
 */
export async function runShard(
  options: BackupOptions,
  shard: ShardNumber,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<ShardReport> {
  const { backupId } = options
  const previous = await latestManifest(parts.storage, backupId, signal)
  const generation = (previous?.generation ?? 0) + 1
  const own = furthest(await readShards(parts.storage, { backupId, generation, only: shard }, signal))
  const before = own ? [own] : []
  const known = overlayShards(previous, before)
  const prepared = await prepareRound(options, parts, previous, signal, known)
  const sliced = { ...prepared, observed: observedBy(prepared.observed, shard), plan: planShard(prepared.plan, shard) }
  const publisher = new ShardPublisher(options, sliced, shard, parts, before)
  const report = await runRound(options, sliced, parts, publisher, signal)
  return { ...report, backupId, generation, shard, key: publisher.key }
}
