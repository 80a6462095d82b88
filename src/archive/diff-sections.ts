import { isDeepStrictEqual } from 'node:util'
import { formatJson } from '../lib/json.ts'
import { type AccessFile, type AccessKind, accessKinds } from './access-section.ts'
import type { GroupsFile } from './groups-section.ts'
import type { Manifest } from './manifest.ts'
import type { RegistrySection } from './registry-section.ts'

/** Names that only the later side has, that only the earlier one has, and that both have with other content. */
export interface NameDiff {
  added: string[]
  removed: string[]
  changed: string[]
}

export interface RegistryDiff extends NameDiff {
  /** Whether a registry belongs to the backup. */
  enabled: { from: boolean; to: boolean }
  /** Versions of all subjects. */
  versions: { from: number; to: number }
  /** Settings of the registry as a whole. */
  settings_changed: boolean
}

export interface GroupsDiff extends NameDiff {
  state: { from: SectionState; to: SectionState }
}

export type AccessDiff = Record<AccessKind, { state: { from: SectionState; to: SectionState } } & Counts>

/** `none`: nothing is known of it. */
export type SectionState = 'taken' | 'off' | 'failed' | 'none'

interface Counts {
  added: number
  removed: number
}

/** Pure. Subjects by the objects that the generations name. */
export function diffRegistry(from: Manifest['schema_registry'], to: Manifest['schema_registry']): RegistryDiff {
  const [old, now] = [subjectsOf(from), subjectsOf(to)]
  return {
    enabled: { from: from !== undefined, to: to !== undefined },
    ...diffNames(old, now),
    versions: { from: countVersions(from), to: countVersions(to) },
    settings_changed: Boolean(
      from && to && (from.settings.blake3 !== to.settings.blake3 || from.global.blake3 !== to.global.blake3),
    ),
  }
}

/** What a subject is, without the names of its objects. */
function subjectsOf(section: RegistrySection | undefined): Map<string, unknown> {
  return new Map(
    (section?.subjects ?? []).map(({ name, metadata, versions, compatibility }) => [
      name,
      [
        compatibility,
        metadata.blake3,
        versions.map(({ version, id, deleted, blake3 }) => [version, id, deleted, blake3]),
      ],
    ]),
  )
}

function countVersions(section: RegistrySection | undefined): number {
  return (section?.subjects ?? []).reduce((sum, { versions }) => sum + versions.length, 0)
}

type Groups = GroupsFile['groups']

/** Pure. Groups by their committed offsets; lag and members do not count. */
export function diffGroups(from: Groups, to: Groups): NameDiff {
  return diffNames(positionsOf(from), positionsOf(to))
}

function positionsOf(groups: Groups): Map<string, unknown> {
  return new Map(
    groups.map(({ group, error, positions }) => [
      group,
      [error, positions.map(({ topic, partition, offset, metadata }) => [topic, partition, offset, metadata])],
    ]),
  )
}

/** Pure. */
export function diffRules(from: AccessFile | undefined, to: AccessFile | undefined): Record<AccessKind, Counts> {
  const diff = (kind: AccessKind): Counts => {
    const [old, now] = [textsOf(from?.[kind]), textsOf(to?.[kind])]
    return { added: now.difference(old).size, removed: old.difference(now).size }
  }
  return Object.fromEntries(accessKinds.map(kind => [kind, diff(kind)])) as Record<AccessKind, Counts>
}

function textsOf(items: readonly object[] | undefined): Set<string> {
  return new Set((items ?? []).map(item => formatJson(item)))
}

function diffNames(old: ReadonlyMap<string, unknown>, now: ReadonlyMap<string, unknown>): NameDiff {
  return {
    added: [...now.keys()].filter(name => !old.has(name)).sort(),
    removed: [...old.keys()].filter(name => !now.has(name)).sort(),
    changed: [...now.keys()].filter(name => old.has(name) && !isDeepStrictEqual(old.get(name), now.get(name))).sort(),
  }
}
