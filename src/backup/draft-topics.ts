import { freshKey } from '../archive/commit.ts'
import type { ManifestTopic } from '../archive/manifest.ts'
import type { PartitionCopy } from './partition-copy.ts'
import type { BackupPlan } from './plan.ts'

/** The topics of a plan with what is durable of them now. */
export function draftTopics({ topics }: BackupPlan, copies: readonly PartitionCopy[]): ManifestTopic[] {
  const durable = new Map(copies.map(copy => [freshKey(copy.identity, copy.partition), copy.durable]))
  return topics.map(topic => ({
    ...topic,
    partitions: topic.partitions.map(one => durable.get(freshKey(topic, one.durable.partition)) ?? one.durable),
  }))
}
