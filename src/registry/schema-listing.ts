import { newestOf } from '../archive/registry-files.ts'
import type {
  RegistryFlavour,
  RegistrySettings,
  RegistrySnapshot,
  SchemaType,
  SchemaVersion,
} from '../archive/registry-model.ts'
import { diffSnapshots, type SchemaDifference } from './diff-snapshots.ts'

/** Where schemas were read, and how many there are. */
export interface SchemaSource extends SnapshotCounts {
  /** `registry http://…`, or a generation of a backup. */
  name: string
  flavour: RegistryFlavour
  registryVersion: string | null
  takenAt: string
}

export interface SchemaListing extends SchemaSource {
  compatibility: string | null
  mode: string | null
  subjectList: ListedSubject[]
}

export interface SchemaDiff {
  ok: boolean
  left: SchemaSource
  right: SchemaSource
  differences: SchemaDifference[]
  /** IDs that are others, where they were not asked to be the same. */
  ids: SchemaDifference[]
}

export interface NamedSnapshot {
  name: string
  snapshot: RegistrySnapshot
}

export function listingOf(named: NamedSnapshot): SchemaListing {
  const { compatibility, mode } = named.snapshot.global
  return { ...sourceOf(named), compatibility, mode, subjectList: listSubjects(named.snapshot) }
}

/** With `wantsIds` a version that has another ID differs. */
export function diffOf(left: NamedSnapshot, right: NamedSnapshot, { wantsIds }: { wantsIds: boolean }): SchemaDiff {
  const found = diffSnapshots(left.snapshot, right.snapshot)
  const differences = wantsIds ? [...found.differences, ...found.ids] : found.differences
  return {
    ok: differences.length === 0,
    left: sourceOf(left),
    right: sourceOf(right),
    differences,
    ids: wantsIds ? [] : found.ids,
  }
}

function sourceOf({ name, snapshot }: NamedSnapshot): SchemaSource {
  const { flavour, registryVersion, takenAt } = snapshot
  return { name, flavour, registryVersion, takenAt, ...countSnapshot(snapshot) }
}

/** A subject in a line. */
export interface ListedSubject {
  name: string
  /** Of the latest version; null where there is none, as for an alias. */
  schemaType: SchemaType | null
  versions: number
  /** What `latest` means: the highest version that is live, or else the highest. */
  latestVersion: number | null
  latestId: number | null
  /** Its own; null where it is not set for the subject. */
  compatibility: string | null
  mode: string | null
  /** The subject that answers in its place. */
  alias: string | null
  /** Versions that are marked as deleted. */
  deletedVersions: number
  /** Versions that are there since others refer to them. */
  pulledInVersions: number
}

/** Pure. By name; a subject that has settings alone is among them. */
export function listSubjects(snapshot: RegistrySnapshot): ListedSubject[] {
  const bySubject = Map.groupBy(snapshot.versions, ({ subject }) => subject)
  const names = [...new Set([...snapshot.subjects.keys(), ...bySubject.keys()])].sort()
  return names.map(name => listSubject(name, bySubject.get(name) ?? [], snapshot.subjects.get(name)))
}

function listSubject(
  name: string,
  versions: readonly SchemaVersion[],
  settings: RegistrySettings | undefined,
): ListedSubject {
  const newest = newestOf(versions.map(one => ({ ...one, deleted: one.isDeleted })))
  const alias = settings?.config?.alias
  return {
    name,
    schemaType: newest?.schemaType ?? null,
    versions: versions.length,
    latestVersion: newest?.version ?? null,
    latestId: newest?.id ?? null,
    compatibility: settings?.compatibility ?? null,
    mode: settings?.mode ?? null,
    alias: typeof alias === 'string' ? alias : null,
    deletedVersions: versions.filter(({ isDeleted }) => isDeleted).length,
    pulledInVersions: versions.filter(({ isPulledIn }) => isPulledIn).length,
  }
}

interface SnapshotCounts {
  /** Those with a live version: as many as `GET /subjects` of a registry lists. */
  subjects: number
  deletedSubjects: number
  /** Those that are marked as deleted included. */
  versions: number
  deletedVersions: number
}

/** Pure. */
function countSnapshot({ versions }: RegistrySnapshot): SnapshotCounts {
  const all = new Set(versions.map(({ subject }) => subject))
  const live = versions.filter(({ isDeleted }) => !isDeleted)
  const liveSubjects = new Set(live.map(({ subject }) => subject))
  return {
    subjects: liveSubjects.size,
    deletedSubjects: all.size - liveSubjects.size,
    versions: versions.length,
    deletedVersions: versions.length - live.length,
  }
}
