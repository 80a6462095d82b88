import { freshKey, incarnationKey } from '../archive/incarnation.ts'
import type { BackupOptions } from './backup-options.ts'
import type { KnownState, PlannedTopic } from './backup-plan.ts'
import { planBackup } from './plan.ts'
import type { Prepared } from './round.ts'

/**
 * Pure. Topics, and incarnations of topics, that no shard has seen came later than the run: they belong to the next one. What the
 * shards copied of the one before is not replaced as long as nothing is there in its place.
 */
export function withoutUnseen(
  prepared: Prepared,
  known: KnownState | undefined,
  options: BackupOptions,
  now: string,
): Prepared {
  const seen = new Set(known?.topics.map(incarnationKey))
  const unseen = new Set(prepared.plan.topics.filter(one => !seen.has(incarnationKey(one))).map(({ name }) => name))
  const topics = prepared.observed.topics.filter(({ name }) => !unseen.has(name))
  const observed = { ...prepared.observed, topics }
  const plan = planBackup(observed, known, now, { ...options, rereads: null })
  const held = new Set(known?.topics.map(({ name }) => name))
  const later = [...unseen].filter(name => held.has(name)).map(describeLater)
  return { ...prepared, observed, plan: { ...plan, warnings: [...plan.warnings, ...later] } }
}

function describeLater(name: string): string {
  return `topic ${name} was created again, or lost records, after the shards had read it; the next run starts its new incarnation`
}

/** Pure. Partitions of topics that some shards have seen, but not the one whose they are: it had started before. */
export function unseenPartitions(topics: readonly PlannedTopic[], known: KnownState | undefined): string[] {
  const seen = new Set(
    known?.topics.flatMap(topic => topic.partitions.map(({ partition }) => freshKey(topic, partition))),
  )
  return topics.flatMap(topic =>
    topic.partitions
      .filter(({ durable }) => !seen.has(freshKey(topic, durable.partition)))
      .map(({ durable }) => `${topic.name}/${durable.partition}`),
  )
}

export function describeUnseen(name: string): string {
  return `${name} appeared while the shards were running and holds nothing yet; the next run copies it`
}
