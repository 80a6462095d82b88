import { newestOf } from '../archive/registry-files.ts'
import type { RegistrySettings, RegistrySnapshot, SchemaType, SchemaVersion } from '../archive/registry-model.ts'

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

export interface SnapshotCounts {
  /** Those with a live version: as many as `GET /subjects` of a registry lists. */
  subjects: number
  deletedSubjects: number
  /** Those that are marked as deleted included. */
  versions: number
  deletedVersions: number
}

/** Pure. */
export function countSnapshot({ versions }: RegistrySnapshot): SnapshotCounts {
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
