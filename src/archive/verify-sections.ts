import type { Storage } from '../storage/storage.ts'
import { verifyAccess } from './access.ts'
import { verifyGroups } from './groups.ts'
import type { Manifest } from './manifest.ts'
import type { Problem } from './verify-objects.ts'
import { verifyRegistry } from './verify-registry.ts'

interface SectionFindings {
  objects: number
  bytes: number
  problems: Problem[]
  warnings: string[]
}

/** Problems of everything except records: schemas, groups and access rules. */
export async function verifySections(
  storage: Storage,
  manifest: Manifest,
  known: Parameters<typeof verifyRegistry>[2],
  signal: AbortSignal,
): Promise<SectionFindings> {
  const registry = await verifyRegistry(storage, manifest, known, signal)
  const all = [registry, await verifyGroups(storage, manifest, signal), await verifyAccess(storage, manifest, signal)]
  return {
    objects: all.reduce((sum, { objects }) => sum + objects, 0),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    problems: all.flatMap(({ problems }) => problems),
    warnings: registry.warnings,
  }
}
