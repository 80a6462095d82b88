import type { ManifestTopic } from '../archive/manifest.ts'
import { isInternalTopic } from '../archive/scalars.ts'
import { emptyPartition } from '../archive/summary.ts'
import { idOfName } from '../kafka/named-topic-id.ts'
import type { OsoTopic } from './oso-manifest.ts'

/** Pure. The topic with empty partitions. The archive has no topic IDs. */
export function topicOf(source: OsoTopic): ManifestTopic {
  const { name, original_partition_count: count, source_replication_factor: replicas, configurations = {} } = source
  const highest = Math.max(-1, ...source.partitions.map(one => one.partition_id))
  return {
    ...{ name, id: idOfName(name), id_source: 'name', state: 'current', internal: isInternalTopic(name) },
    replication_factor: replicas && replicas > 0 ? replicas : 1,
    configs: configurations,
    partitions: Array.from({ length: Math.max(count ?? 0, highest + 1) }, (_, at) => emptyPartition(at, 0n)),
  }
}
