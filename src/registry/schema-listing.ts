import type { RegistryFlavour, RegistrySnapshot } from '../archive/registry-model.ts'
import { diffSnapshots, type SchemaDifference } from './diff-snapshots.ts'
import { countSnapshot, type ListedSubject, listSubjects, type SnapshotCounts } from './list-subjects.ts'

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
