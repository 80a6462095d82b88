import type { TakenGroups } from './groups-section.ts'
import type { Manifest } from './manifest.ts'

/** Pure. Committed offsets of groups that belong to topics which are not current any more. An object may come more than once. */
export function keptGroupsOf({ topics }: Pick<Manifest, 'topics'>): TakenGroups[] {
  return topics.flatMap(({ consumer_groups }) => consumer_groups ?? [])
}
