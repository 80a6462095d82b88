import { accessKinds } from './access-section.ts'
import type { Manifest, ManifestTopic } from './manifest.ts'

/** A part of a generation that its run could not read. */
export interface FailedSection {
  section: 'consumer_groups' | 'acls' | 'quotas' | 'users'
  error: string
}

/** Pure. What the run of a generation could not read besides records. A registry that cannot be read ends a run before it commits anything. */
export function failedSectionsOf({ consumer_groups: groups, access }: Pick<Manifest, 'consumer_groups' | 'access'>) {
  const failed: FailedSection[] = []
  if (groups?.state === 'failed') failed.push({ section: 'consumer_groups', error: groups.error })
  if (groups?.state === 'taken' && groups.errors > 0) {
    const which = groups.errors === 1 ? '1 group' : `${groups.errors} groups`
    failed.push({ section: 'consumer_groups', error: `${which} of ${groups.groups} could not be read` })
  }
  for (const section of accessKinds) {
    const kind = access?.[section]
    if (kind?.state === 'failed') failed.push({ section, error: kind.error })
  }
  return failed
}

/** Pure. When the schemas were read, where the run has read everything else and not these; null otherwise. */
export function oldSchemasOf(
  manifest: Pick<Manifest, 'schema_registry' | 'carried_sections' | 'topic_settings_at'>,
): string | null {
  const { schema_registry: registry, carried_sections: carried = [], topic_settings_at: settingsAt } = manifest
  const isCarried = carried.includes('schema_registry') && settingsAt === undefined
  return registry && isCarried ? registry.backup_timestamp : null
}

/** So many moments are more than those of a day in which gaps are found. */
const MAX_TIMES = 1000

/** Gaps that were found at the same time. */
export interface FoundGaps {
  found_at: string
  gaps: number
}

/** Pure. When gaps were found, the latest first: they stay in a backup for its life. */
export function foundGapsOf(topics: readonly Pick<ManifestTopic, 'partitions'>[]): FoundGaps[] {
  const found = new Map<string, number>()
  for (const { partitions } of topics) {
    for (const { gaps } of partitions) {
      for (const { found_at } of gaps) found.set(found_at, (found.get(found_at) ?? 0) + 1)
    }
  }
  const latest = [...found].sort(([a], [b]) => (a < b ? 1 : -1)).slice(0, MAX_TIMES)
  return latest.map(([found_at, gaps]) => ({ found_at, gaps }))
}
