import { isDeepStrictEqual } from 'node:util'
import type { Storage } from '../storage/storage.ts'
import { readAccess } from './access.ts'
import { type AccessSection, accessKinds } from './access-section.ts'
import {
  type AccessDiff,
  diffGroups,
  diffRegistry,
  diffRules,
  type GroupsDiff,
  type NameDiff,
  type RegistryDiff,
  type SectionState,
} from './diff-sections.ts'
import { diffTopics, type Step, type TopicDiff } from './diff-topics.ts'
import { readGroups } from './groups.ts'
import type { GroupsSection } from './groups-section.ts'
import type { Manifest } from './manifest.ts'
import { avoidedWarnings } from './record-warnings.ts'
import { openSelected } from './select-generation.ts'
import { totalsOf } from './summary.ts'

export interface GenerationDiff {
  location: string
  backup_id: string
  /** They have the same records, settings, schemas, committed offsets and access rules. */
  equal: boolean
  from: GenerationFacts
  to: GenerationFacts
  selection_changed: boolean
  topics: TopicDiff[]
  schema_registry: RegistryDiff
  consumer_groups: GroupsDiff
  access: AccessDiff
  /** Damaged objects that were read around. */
  warnings: string[]
}

interface GenerationFacts {
  generation: number
  created_at: string
  complete: boolean
  records: number
  bytes: number
  stored_bytes: number
}

/** How two generations of a backup differ. `to` is the newest where it is not given. No records are read. */
export async function diffGenerations(
  storage: Storage,
  backupId: string,
  wanted: { from: number; to?: number | undefined },
  signal: AbortSignal,
): Promise<GenerationDiff> {
  const from = await openSelected(storage, backupId, { generation: wanted.from }, signal)
  const to = await openSelected(storage, backupId, { generation: wanted.to }, signal)
  const topics = diffTopics(from, to)
  const schema_registry = diffRegistry(from.schema_registry, to.schema_registry)
  const consumer_groups = await compareGroups(storage, from.consumer_groups, to.consumer_groups, signal)
  const access = await compareAccess(storage, from.access, to.access, signal)
  const selection_changed = !isDeepStrictEqual(from.selection, to.selection)
  const isEqual =
    topics.length === 0 &&
    !selection_changed &&
    isSameRegistry(schema_registry) &&
    isSameStep(consumer_groups.state) &&
    isSameNames(consumer_groups) &&
    accessKinds.every(kind => isSameStep(access[kind].state) && access[kind].added + access[kind].removed === 0)
  const head = { location: storage.location, backup_id: backupId, equal: isEqual }
  return {
    ...head,
    from: factsOf(from),
    to: factsOf(to),
    selection_changed,
    topics,
    schema_registry,
    consumer_groups,
    access,
    warnings: [...new Set([...avoidedWarnings(from), ...avoidedWarnings(to)])],
  }
}

function factsOf({ generation, created_at, complete, topics }: Manifest): GenerationFacts {
  const { records, bytes, stored_bytes } = totalsOf(topics)
  return { generation, created_at, complete, records, bytes, stored_bytes }
}

async function compareGroups(
  storage: Storage,
  from: GroupsSection | undefined,
  to: GroupsSection | undefined,
  signal: AbortSignal,
): Promise<GroupsDiff> {
  const state = { from: from?.state ?? 'none', to: to?.state ?? 'none' } as const
  const isSame = from?.state === 'taken' && to?.state === 'taken' && from.blake3 === to.blake3
  if (isSame) return { state, added: [], removed: [], changed: [] }
  const read = async (section: GroupsSection | undefined) =>
    section?.state === 'taken' ? (await readGroups(storage, section, signal)).groups : []
  return { state, ...diffGroups(await read(from), await read(to)) }
}

async function compareAccess(
  storage: Storage,
  from: AccessSection | undefined,
  to: AccessSection | undefined,
  signal: AbortSignal,
): Promise<AccessDiff> {
  const isSame = from?.blake3 === to?.blake3
  const read = async (section: AccessSection | undefined) =>
    section && !isSame ? readAccess(storage, section, signal) : undefined
  const rules = diffRules(await read(from), await read(to))
  const stateOf = (section: AccessSection | undefined, kind: keyof AccessDiff): SectionState =>
    section?.[kind].state ?? 'none'
  const diff = (kind: keyof AccessDiff) => ({
    state: { from: stateOf(from, kind), to: stateOf(to, kind) },
    ...rules[kind],
  })
  return { acls: diff('acls'), quotas: diff('quotas'), users: diff('users') }
}

function isSameRegistry({ enabled, settings_changed, ...names }: RegistryDiff): boolean {
  return isSameStep(enabled) && !settings_changed && isSameNames(names)
}

function isSameNames({ added, removed, changed }: NameDiff): boolean {
  return added.length + removed.length + changed.length === 0
}

function isSameStep({ from, to }: Step<unknown>): boolean {
  return from === to
}
