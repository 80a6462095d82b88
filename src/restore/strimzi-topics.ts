import { createHash } from 'node:crypto'
import type { PlannedTopic } from './plan.ts'

interface StrimziOptions {
  /** The name of the Kafka resource that the topics belong to. */
  cluster: string
  namespace?: string | undefined
  apiVersion: string
}

/** A topic as Strimzi's topic operator wants it. */
export interface KafkaTopic {
  apiVersion: string
  kind: 'KafkaTopic'
  metadata: { name: string; namespace?: string; labels: Record<string, string> }
  spec: { topicName?: string; partitions: number; replicas: number; config: Record<string, string> }
}

const MAX_NAME = 253

/** Pure: the topics as they are when a restore is done. Names that Kubernetes does not take are replaced, told apart by a hash. */
export function strimziTopics(topics: readonly PlannedTopic[], options: StrimziOptions): KafkaTopic[] {
  const { apiVersion, cluster, namespace } = options
  return topics.map(topic => {
    const { name, partitions, replicationFactor: replicas } = topic
    const resourceName = resourceNameOf(name)
    return {
      apiVersion,
      kind: 'KafkaTopic',
      metadata: {
        name: resourceName,
        ...(namespace !== undefined && { namespace }),
        labels: { 'strimzi.io/cluster': cluster },
      },
      spec: { ...(resourceName !== name && { topicName: name }), partitions, replicas, config: finalSettings(topic) },
    }
  })
}

function resourceNameOf(topic: string): string {
  if (/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(topic) && topic.length <= MAX_NAME) {
    return topic
  }
  const hash = createHash('sha256').update(topic).digest('hex').slice(0, 10)
  const plain = topic
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  const short = plain.slice(0, MAX_NAME - hash.length - 1).replace(/-$/, '')
  return short === '' ? `topic-${hash}` : `${short}-${hash}`
}

/** What was only for the time of the filling is gone. */
function finalSettings({ whileFilling, afterwards }: PlannedTopic): Record<string, string> {
  const settings = Object.entries({ ...whileFilling, ...afterwards }).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  )
  return Object.fromEntries(settings.sort(([one], [other]) => (one < other ? -1 : 1)))
}
