import { indexRefsOf } from './indexes.ts'
import { keptGroupsOf } from './kept-groups.ts'
import { registryKey } from './layout.ts'
import type { Manifest, NamedObject, PartitionIndex } from './manifest.ts'
import { type RegistrySection, registryFilesOf } from './registry-section.ts'

/**
 * Pure. Every object that a generation names, besides its own manifest: segments first, then what names them, then all
 * other sections. `indexes` are those of `indexRefsOf`, or the part of them that the caller wants the segments of. An object
 * may come more than once.
 *
 * Copies and removals rely on this list being complete.
 */
export function* objectsOf(manifest: Manifest, indexes: Iterable<PartitionIndex>): Generator<NamedObject> {
  for (const { segments } of indexes) yield* segments.map(({ key, size, blake3 }) => ({ key, size, blake3 }))
  yield* sectionObjectsOf(manifest)
}

/** Pure. The same without segments: what the manifest itself names. */
export function* sectionObjectsOf(manifest: Manifest): Generator<NamedObject> {
  for (const name of Object.values(namers)) yield* name(manifest)
}

const nothing = (): NamedObject[] => []

/** What each field of a manifest names. A field that is new does not compile before it is decided here. */
const namers: Record<keyof Manifest, (manifest: Manifest) => Iterable<NamedObject>> = {
  format: nothing,
  format_version: nothing,
  tool_version: nothing,
  backup_id: nothing,
  generation: nothing,
  run: nothing,
  complete: nothing,
  created_at: nothing,
  started_at: nothing,
  cluster: nothing,
  selection: nothing,
  topics: manifest => [...indexRefsOf(manifest), ...keptGroupsOf(manifest)].map(vouchFor),
  schema_registry: ({ backup_id, schema_registry }) =>
    schema_registry ? registryFiles(backup_id, schema_registry) : [],
  consumer_groups: ({ consumer_groups: groups }) => (groups?.state === 'taken' ? [vouchFor(groups)] : []),
  access: ({ access }) => (access ? [vouchFor(access)] : []),
  /** Without keys files, which are wrapped separately for each location. */
  encryption: nothing,
  carried_sections: nothing,
  topic_settings_at: nothing,
  lineage: nothing,
  warnings: nothing,
  avoided: nothing,
}

function vouchFor({ key, size, blake3 }: NamedObject): NamedObject {
  return { key, size, blake3 }
}

function registryFiles(backupId: string, section: RegistrySection): NamedObject[] {
  return registryFilesOf(section).map(({ file, size, blake3 }) => ({ key: registryKey(backupId, file), size, blake3 }))
}
