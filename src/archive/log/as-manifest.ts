import type { Storage } from '../../storage/storage.ts'
import { damaged } from '../damage.ts'
import { freshKey, incarnationKey, rereadKey } from '../incarnation.ts'
import type { Manifest, ManifestPartition, ManifestTopic } from '../manifest.ts'
import type { Head, State, TopicRow } from './change.ts'
import { type OpenedGeneration, SegmentLists } from './open-generation.ts'
import type { ListRow } from './row-change.ts'

/** Pure. What a manifest says, as a state; its segments are not part of it. */
export function stateOf(manifest: Omit<Manifest, 'format' | 'format_version'>): State {
  const topics = new Map<string, TopicRow>()
  const lists = new Map<string, ListRow>()
  for (const { partitions, ...topic } of manifest.topics) {
    topics.set(incarnationKey(topic), topic)
    for (const { partition, reread, ...row } of partitions) {
      lists.set(freshKey(topic, partition), rowOf(row))
      if (reread) lists.set(rereadKey(topic, partition), rowOf(reread))
    }
  }
  return { head: headOf(manifest), topics, lists }
}

function rowOf(partition: Omit<ManifestPartition, 'partition' | 'reread'> & { partition?: number }): ListRow {
  const { indexes: _, list: __, partition: ___, ...row } = partition
  return row
}

function headOf(manifest: Omit<Manifest, 'format' | 'format_version'>): Head {
  const { cluster, selection, schema_registry, consumer_groups, encryption, access, lineage, warnings } = manifest
  return {
    cluster,
    selection,
    warnings,
    ...(schema_registry && { schema_registry }),
    ...(consumer_groups && { consumer_groups }),
    ...(encryption && { encryption }),
    ...(access && { access }),
    ...(lineage !== undefined && { lineage }),
  }
}

/** A generation of version 2 in the form of a manifest. Its partitions read their segments from the log. */
export function manifestOf(storage: Storage, opened: OpenedGeneration): Manifest {
  const { commit, state } = opened
  const segments = new SegmentLists(storage, opened)
  const partitions = partitionsOf(opened, list => ({ read: signal => segments.read(list, signal) }))
  const topics = [...state.topics].map(
    ([key, topic]): ManifestTopic => ({ ...topic, partitions: partitions.get(key) ?? [] }),
  )
  const { tool_version, backup_id, generation, run, complete, created_at, started_at } = commit
  const facts = { tool_version, backup_id, generation, run, complete, created_at, started_at }
  return { format: 'kafka-backup', format_version: 2, ...facts, ...state.head, topics }
}

type OpenList = (list: string) => NonNullable<ManifestPartition['list']>

/** By the key of their topic, in the order of their numbers. */
function partitionsOf({ state, ref }: OpenedGeneration, open: OpenList): Map<string, ManifestPartition[]> {
  const partitions = new Map<string, ManifestPartition[]>()
  for (const [list, row] of state.lists) {
    const [topic = '', number = ''] = list.split('/')
    if (topic === 'reread') continue
    if (!state.topics.has(topic)) throw damaged(ref.key, `is damaged: ${list} belongs to no topic`)
    const reread = state.lists.get(`reread/${list}`)
    const partition = Number(number)
    const some = partitions.get(topic) ?? []
    partitions.set(topic, some)
    some.push({
      partition,
      ...row,
      indexes: [],
      list: open(list),
      ...(reread && { reread: { partition, ...reread, indexes: [], list: open(`reread/${list}`) } }),
    })
  }
  for (const some of partitions.values()) some.sort((a, b) => a.partition - b.partition)
  return partitions
}
