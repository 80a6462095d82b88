import { carriedNotice } from '../archive/carried-notice.ts'
import { openBackup } from '../archive/catalog.ts'
import { readGroups } from '../archive/groups.ts'
import type { Manifest, ManifestTopic } from '../archive/manifest.ts'
import { warnOfAvoided } from '../archive/record-warnings.ts'
import { KafkaBackupError } from '../errors.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { type OffsetSnapshot, topicIdsIn } from './snapshot.ts'
import type { TopicIds } from './topic-ids.ts'

/** Positions that groups had somewhere: in an offset snapshot, or in a backup. */
export interface Origin {
  /** For messages: `the snapshot 20260131t…`. */
  name: string
  clusterId: string | null
  /** Of its topics; without those that it does not know. */
  topicIds?: TopicIds
  groups: readonly OriginGroup[]
}

interface OriginGroup {
  group: string
  /** As the cluster named it there; absent where it is not known. */
  type?: string
  positions: readonly OriginPosition[]
  /** Why nothing is known of it. */
  error?: string
}

export interface OriginPosition {
  topic: string
  partition: number
  offset: bigint
  metadata: string
}

export function originOfSnapshot(snapshot: OffsetSnapshot): Origin {
  const { snapshot_id, cluster_id, groups } = snapshot
  return { name: `the snapshot ${snapshot_id}`, clusterId: cluster_id, topicIds: topicIdsIn(snapshot), groups }
}

/** The group as the origin has it; one that it could not read is an error, and so is one that it does not have. */
export function originGroup(origin: Origin, group: string): OriginGroup {
  const found = origin.groups.find(one => one.group === group)
  if (!found)
    throw new KafkaBackupError('GROUP_NOT_FOUND', `${origin.name} has no group ${group}`, { details: { group } })
  if (found.error === undefined) return found
  throw new KafkaBackupError(
    'OFFSETS_REFUSED',
    `${origin.name} has no committed offsets of group ${group}: ${found.error}`,
    {
      details: { group },
    },
  )
}

/** Offsets as they are mean something on their own cluster alone. */
export function assertOriginIsHere(origin: Origin, clusterId: string | null): void {
  if (origin.clusterId === clusterId) return
  const message = `${origin.name} is of the cluster ${origin.clusterId ?? '?'}, and this is ${clusterId ?? '?'}`
  throw new KafkaBackupError('OFFSETS_REFUSED', message, {
    help: 'On a cluster that was restored to, use the strategy header_based, or from_mapping with the output of `offset-map`.',
  })
}

/** Groups belong to the topics that are current in the generation. */
type BackupFacts = Pick<Manifest, 'backup_id' | 'generation'> & {
  cluster: Pick<Manifest['cluster'], 'id'>
  topics: readonly Pick<ManifestTopic, 'name' | 'id' | 'id_source' | 'kafka_id' | 'state'>[]
}

/** Groups as a backup keeps them; the error says why nothing is known of one. */
interface BackedUpGroup {
  group: string
  type?: string
  error: string | null
  positions: readonly OriginPosition[]
}

/** The positions that the newest generation of a backup holds of consumer groups. */
export async function readBackupOrigin(
  storage: Storage,
  backupId: string,
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<Origin> {
  const manifest = await openBackup(storage, backupId, signal)
  warnOfAvoided(manifest, onProgress)
  const { consumer_groups: section } = manifest
  const notice = carriedNotice(manifest, 'consumer_groups')
  if (notice !== undefined) onProgress({ type: 'warning', message: notice })
  if (section?.state === 'taken') return originOfBackup(manifest, (await readGroups(storage, section, signal)).groups)
  const why = section?.state === 'failed' ? `: ${section.error}` : ''
  throw new KafkaBackupError('OFFSETS_REFUSED', `the backup ${backupId} holds no consumer groups${why}`, {
    details: { backup_id: backupId },
  })
}

export function originOfBackup(
  { backup_id, generation, cluster, topics }: BackupFacts,
  groups: readonly BackedUpGroup[],
): Origin {
  const current = topics.filter(({ state }) => state === 'current')
  return {
    name: `generation ${generation} of the backup ${backup_id}`,
    clusterId: cluster.id,
    topicIds: new Map(
      current.flatMap(({ name, id, id_source, kafka_id }) => {
        const known = id_source === 'name' ? kafka_id : id
        return known === undefined ? [] : [[name, known] as const]
      }),
    ),
    groups: groups.map(({ error, ...group }) => ({ ...group, ...(error !== null && { error }) })),
  }
}
