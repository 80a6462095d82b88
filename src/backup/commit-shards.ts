import { freshKey } from '../archive/incarnation.ts'
import type { Manifest } from '../archive/manifest.ts'
import { readShards, type Shard, segmentsOf } from '../archive/shard.ts'
import { formatUtc } from '../lib/clock.ts'
import type { BackupOptions } from './backup-options.ts'
import { confirmPlanned } from './confirm-source.ts'
import { openTarget } from './open-target.ts'
import { type BackupParts, gapError, type Prepared, prepareRound } from './round.ts'
import type { BackupReport } from './run-backup.ts'
import { gatherShards, overlayShards, refuseMixed } from './shards.ts'
import { takeSections } from './take-sections.ts'
import type { NewGap } from './tally.ts'
import { changesSince } from './tally.ts'
import { describeUnseen, unseenPartitions, withoutUnseen } from './unseen.ts'

/** Gathers what all shards have done and commits it as one generation. Nothing is copied. */
export async function commitShards(
  options: BackupOptions,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<BackupReport> {
  const startedAt = parts.clock.monotonic()
  const { backupId } = options
  const { previous, openPublisher } = await openTarget(backupId, parts, signal)
  const generation = (previous?.generation ?? 0) + 1
  const found = await readShards(parts.storage, { backupId, generation }, signal)
  const help = found.length === 0 && previous ? await explainNone(previous, parts, signal) : undefined
  const shards = gatherShards(found, backupId, generation, help)
  refuseMixed(shards, selectionOf(options))
  const known = overlayShards(previous, shards)
  const now = formatUtc(parts.clock.now())
  const planned = await prepareRound(options, parts, previous, signal, known, null)
  const prepared = await takeSections(withoutUnseen(planned, known, options, now), backupId, parts, signal)
  const unseen = unseenPartitions(prepared.plan.topics, known)
  const warnings = [...warningsOf(shards, prepared), ...unseen.map(describeUnseen)]
  for (const message of warnings) parts.onProgress({ type: 'warning', message })
  const carried = segmentsOf(shards)
  // Each shard has confirmed its own partitions of a topic that is read by name; here they are compared together.
  await confirmPlanned(parts.cluster, prepared.plan, signal)
  const publisher = openPublisher(options, prepared, carried)
  await publisher.publish({ copies: [], rereads: [], complete: unseen.length === 0, warnings }, parts.onProgress)
  const manifest = publisher.newest
  const newGaps = newGapsOf(manifest, previous)
  if (newGaps.length > 0 && options.onGap === 'fail') throw gapError(newGaps)
  const changes = changesSince(previous, manifest)
  const durationMs = parts.clock.monotonic() - startedAt
  return { manifest, changes, durationMs, copied: sumOf(carried), newGaps, warnings }
}

/** A commit that is cut off after it has published its generation finds no shards of the next one when it is run again. */
async function explainNone(
  { backup_id: backupId, generation, created_at }: Manifest,
  { storage }: BackupParts,
  signal: AbortSignal,
): Promise<string | undefined> {
  const earlier = await readShards(storage, { backupId, generation }, signal)
  if (earlier.length === 0) return undefined
  const written = `Shards wrote for generation ${generation}, which was committed at ${created_at}.`
  return `${written} If an interrupted \`backup --commit\` committed it, nothing is left to do. Otherwise run all shards, then \`backup --commit\` again.`
}

function selectionOf({ topics }: BackupOptions): Shard['selection'] {
  return { include: [...topics.include], exclude: [...topics.exclude] }
}

function warningsOf(shards: readonly Shard[], { plan }: Prepared): string[] {
  return [...new Set([...shards.flatMap(shard => shard.warnings), ...plan.warnings])]
}

function sumOf(carried: ReturnType<typeof segmentsOf>): BackupReport['copied'] {
  const segments = [...carried.values()].flat()
  return {
    records: segments.reduce((sum, { records }) => sum + records, 0),
    bytes: segments.reduce((sum, { plain_size }) => sum + plain_size, 0),
    partitions: carried.size,
  }
}

function newGapsOf(manifest: Manifest, previous: Manifest | undefined): NewGap[] {
  const gapsOf = (topics: Manifest['topics']) =>
    topics.flatMap(topic =>
      topic.partitions.flatMap(({ partition, gaps }) =>
        gaps.map(gap => {
          const identity = `${freshKey(topic, partition)}/${gap.from}/${gap.reason}`
          return { identity, topic: topic.name, partition, ...gap }
        }),
      ),
    )
  const before = new Set(gapsOf(previous?.topics ?? []).map(({ identity }) => identity))
  return gapsOf(manifest.topics)
    .filter(({ identity }) => !before.has(identity))
    .map(({ topic, partition, from, to, reason }) => ({ topic, partition, from, to, reason }))
}
