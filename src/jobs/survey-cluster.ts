import type { BackupJob } from '../config/load-job.ts'
import { hasCode } from '../errors.ts'
import type { SurveyedTopic } from '../init/propose-topics.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchPartitionSizes } from '../kafka/partition-sizes.ts'
import { fetchTopicPermissions, type TopicOperation } from '../kafka/permissions.ts'
import { readTopicConfigs } from '../kafka/topic-configs.ts'
import { readOnly, withCluster } from './parts.ts'

export interface ClusterSurvey {
  clusterId: string | null
  brokers: number
  /** By name. */
  topics: SurveyedTopic[]
}

const NEEDED: readonly TopicOperation[] = ['Describe', 'Read', 'DescribeConfigs']

/** Asks a cluster for its topics, their sizes, and what the user of the job may do with them. Changes nothing. */
export function surveyCluster(source: BackupJob['source'], signal: AbortSignal): Promise<ClusterSurvey> {
  return withCluster(source, readOnly, signal, async cluster => {
    const { clusterId, brokers, topics } = await cluster.metadata({ topics: null }, signal)
    const names = topics.map(({ name }) => name).sort()
    const sizes = names.length === 0 ? undefined : await fetchPartitionSizes(cluster, names, signal)
    const permissions = await fetchTopicPermissions(cluster, names, signal)
    const readable = names.filter(name => permissions.get(name)?.has('DescribeConfigs') ?? true)
    const configs = await readConfigs(cluster, readable, signal)
    const surveyed = topics.map(({ name, isInternal, partitions }): SurveyedTopic => {
      const settings = configs.get(name)
      const policy = settings?.get('cleanup.policy')?.value ?? 'delete'
      const granted = permissions.get(name)
      const known = partitions.flatMap(({ partition }) => sizes?.get(`${name}/${partition}`) ?? [])
      return {
        name,
        isInternal,
        partitions: partitions.length,
        bytes: sizes && known.length > 0 ? known.reduce((sum, one) => sum + one, 0) : null,
        isCompacted: policy.includes('compact'),
        retentionMs: policy.includes('delete') ? retentionOf(settings?.get('retention.ms')?.value) : null,
        missing: granted ? NEEDED.filter(one => !granted.has(one)) : [],
      }
    })
    return { clusterId, brokers: brokers.length, topics: surveyed.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }
  })
}

/** Retention only improves the proposal: without permission there is none. */
async function readConfigs(cluster: Cluster, names: readonly string[], signal: AbortSignal) {
  try {
    return await readTopicConfigs(cluster, names, signal)
  } catch (error) {
    if (hasCode(error, 'KAFKA_DENIED') || hasCode(error, 'KAFKA_UNSUPPORTED')) return new Map<string, never>()
    throw error
  }
}

function retentionOf(text: string | null | undefined): number | null {
  const ms = Number(text ?? -1)
  return Number.isFinite(ms) && ms >= 0 ? ms : null
}
