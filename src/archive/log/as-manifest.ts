import type { Storage } from '../../storage/storage.ts'
import { assertManifestKeys } from '../assert-keys.ts'
import { damaged } from '../damage.ts'
import { freshKey, incarnationKey, rereadKey } from '../incarnation.ts'
import type { Manifest, ManifestPartition, ManifestTopic, Segment, SegmentList } from '../manifest.ts'
import { refuseRepeatsOf } from '../refuse-repeats.ts'
import { isInternalTopic } from '../scalars.ts'
import type { Head, State, TopicRow } from './change.ts'
import { LOG_VERSION } from './document.ts'
import type { Commit } from './documents.ts'
import type { OpenedGeneration } from './open-generation.ts'
import { ReaderLists } from './reader-lists.ts'
import { copyRow, type ListRow, sumFields } from './row-change.ts'

/** Pure. What a manifest says, as a state; its segments are not part of it. */
export function stateOf(manifest: Omit<Manifest, 'format' | 'format_version'>): State {
  const topics = new Map<string, TopicRow>()
  const lists = new Map<string, ListRow>()
  for (const { partitions, ...topic } of manifest.topics) {
    topics.set(incarnationKey(topic), topic)
    for (const one of partitions) {
      lists.set(freshKey(topic, one.partition), copyRow(one))
      if (one.reread) lists.set(rereadKey(topic, one.partition), copyRow(one.reread))
    }
  }
  return { head: headOf(manifest), topics, lists }
}

function headOf(manifest: Omit<Manifest, 'format' | 'format_version'>): Head {
  const { cluster, selection, schema_registry, consumer_groups, encryption, access, lineage, warnings } = manifest
  const { carried_sections, topic_settings_at } = manifest
  return {
    cluster,
    selection,
    warnings,
    ...(schema_registry && { schema_registry }),
    ...(consumer_groups && { consumer_groups }),
    ...(encryption && { encryption }),
    ...(access && { access }),
    ...(carried_sections && { carried_sections }),
    ...(topic_settings_at !== undefined && { topic_settings_at }),
    ...(lineage !== undefined && { lineage }),
  }
}

/**
 * A generation of version 2 in the form of a manifest. Its partitions read their segments from the log. What is put together from
 * changes is held to the same rules as a manifest that is read.
 */
export function manifestOf(storage: Storage, opened: OpenedGeneration): Manifest {
  const lists = new ReaderLists(storage, opened)
  const manifest = checkedManifest(opened, (list, { segments }) => new LoggedList(lists, list, segments))
  return { ...manifest, avoided: lists.avoided }
}

/** One for each partition: a closure would take twice the memory. */
class LoggedList implements SegmentList {
  readonly #lists: ReaderLists
  readonly #list: string
  readonly segments: number

  constructor(lists: ReaderLists, list: string, segments: number) {
    this.#lists = lists
    this.#list = list
    this.segments = segments
  }

  read(signal: AbortSignal): Promise<readonly Segment[]> {
    return this.#lists.read(this.#list, this, signal)
  }
}

/** The same for a writer, without segments. */
export function writerManifestOf(opened: OpenedGeneration): Manifest {
  return checkedManifest(opened)
}

function checkedManifest({ commit, state, ref }: OpenedGeneration, open?: OpenList): Manifest {
  const manifest = manifestFrom(commit, state, ref.key, open)
  refuseRepeatsOf(manifest, ref.key)
  assertManifestKeys(manifest, ref.key)
  return manifest
}

type StatedFacts = Pick<
  Commit,
  'tool_version' | 'backup_id' | 'generation' | 'run' | 'complete' | 'created_at' | 'started_at'
>

/** What a commit and the state after it say. Without `open` it names no segments, as is enough for a writer. */
export function manifestFrom(commit: StatedFacts, state: State, at: string, open?: OpenList): Manifest {
  const partitions = partitionsOf(state, at, open)
  const topics = [...state.topics].map(
    ([key, topic]): ManifestTopic => ({
      ...topic,
      internal: topic.internal || isInternalTopic(topic.name),
      partitions: partitions.get(key) ?? [],
    }),
  )
  const { tool_version, backup_id, generation, run, complete, created_at, started_at } = commit
  const facts = { tool_version, backup_id, generation, run, complete, created_at, started_at }
  return { format: 'kafka-backup', format_version: LOG_VERSION, ...facts, ...state.head, topics: inOrder(topics) }
}

/** As a manifest of version 1 has them: those that are no longer copied come first, the others by their names. */
function inOrder(topics: readonly ManifestTopic[]): ManifestTopic[] {
  const [current, others] = [true, false].map(is => topics.filter(({ state }) => (state === 'current') === is))
  return [...(others ?? []), ...(current ?? []).sort((a, b) => (a.name < b.name ? -1 : 1))]
}

type OpenList = (list: string, row: ListRow) => SegmentList

/** One for all of them. */
const noIndexes: ManifestPartition['indexes'] = []

/** By the key of their topic, in the order of their numbers. */
function partitionsOf(state: State, at: string, open: OpenList | undefined): Map<string, ManifestPartition[]> {
  const partitions = new Map<string, ManifestPartition[]>()
  for (const [list, row] of state.lists) {
    assertRow(row, list, at)
    const owner = ownerOf(list)
    const isOwned = owner.isReread ? state.lists.has(owner.fresh) : state.topics.has(owner.topic)
    if (!isOwned) throw damaged(at, `is damaged: ${list} belongs to no ${owner.isReread ? 'partition' : 'topic'}`)
    if (owner.isReread) continue
    const { topic, partition } = owner
    const reread = state.lists.get(`reread/${list}`)
    const some = partitions.get(topic) ?? []
    partitions.set(topic, some)
    some.push({
      ...row,
      partition,
      indexes: noIndexes,
      ...(open && { list: open(list, row) }),
      ...(reread && {
        reread: { ...reread, partition, indexes: noIndexes, ...(open && { list: open(`reread/${list}`, reread) }) },
      }),
    })
  }
  for (const some of partitions.values()) some.sort((a, b) => a.partition - b.partition)
  return partitions
}

/** Pure. `reread/a/0` is the reread of `a/0`; `reread/0` belongs to a topic whose ID is `reread`. */
export function ownerOf(list: string): { isReread: boolean; fresh: string; topic: string; partition: number } {
  const [first, last] = [list.indexOf('/'), list.lastIndexOf('/')]
  const isReread = first !== last
  const fresh = isReread ? list.slice(first + 1) : list
  const slash = fresh.lastIndexOf('/')
  return { isReread, fresh, topic: fresh.slice(0, slash), partition: Number(fresh.slice(slash + 1)) }
}

/** Sums are added up from many documents. */
export function assertRow(row: ListRow, list: string, at: string): void {
  for (const field of sumFields) {
    if (Number.isSafeInteger(row[field]) && row[field] >= 0) continue
    throw damaged(at, `is damaged: ${field} of ${list} adds up to ${row[field]}`)
  }
}
