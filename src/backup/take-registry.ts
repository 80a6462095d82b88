import type { Manifest } from '../archive/manifest.ts'
import { writeRegistry } from '../archive/write-registry.ts'
import type { BackupParts, Prepared } from './round.ts'

/**
 * Reads the schema registry and stores what it holds, for the generation to come. The ends of the partitions are fixed by
 * then: a record up to there carries an ID that was given before, so that its schema is in what is read.
 */
export async function takeRegistry(
  prepared: Prepared,
  backupId: string,
  parts: Pick<BackupParts, 'storage' | 'newRun' | 'readRegistry' | 'onProgress' | 'encryption'>,
  signal: AbortSignal,
): Promise<Prepared> {
  if (!parts.readRegistry) return prepared
  const { plan, previous } = prepared
  const snapshot = await parts.readRegistry(signal)
  parts.onProgress({ type: 'schemas_read', subjects: snapshot.subjects.size, versions: snapshot.versions.length })
  const generation = (previous?.generation ?? 0) + 1
  const { folderOf } = parts.encryption ?? {}
  const place = { backupId, generation, run: parts.newRun(), previous: previous?.schema_registry, folderOf }
  const registry = await writeRegistry(parts.storage, snapshot, place, signal)
  const warnings = [...plan.warnings, ...snapshot.warnings, ...(snapshot.versions.length > 0 ? [] : tellLost(previous))]
  return { ...prepared, registry, plan: { ...plan, warnings } }
}

/** An empty registry is a right one, but rarely the one that is meant where it was full before. */
function tellLost(previous: Manifest | undefined): string[] {
  const held = previous?.schema_registry?.subjects.filter(({ versions }) => versions.length > 0) ?? []
  if (!previous || held.length === 0) return []
  const count = held.reduce((sum, { versions }) => sum + versions.length, 0)
  return [
    `the schema registry holds no schemas any more; generation ${previous.generation} has ${count} versions of ` +
      `${held.length} subjects, and can still be restored`,
  ]
}
