import type { GroupsSection, StoredGroup, TakenGroups } from '../archive/groups-section.ts'

/** Pure. The groups with their committed offsets on one topic only, under another name of it. */
export function positionsOf(groups: readonly StoredGroup[], topic: string, label: string): StoredGroup[] {
  return groups.map(group => ({
    ...group,
    positions: group.positions.filter(one => one.topic === topic).map(one => ({ ...one, topic: label })),
  }))
}

/** Pure. Each group once, with the committed offsets of all lists; its error says that one of them lacks some. */
export function mergeGroups(lists: readonly (readonly StoredGroup[])[]): StoredGroup[] {
  const merged = new Map<string, StoredGroup>()
  for (const group of lists.flat()) {
    const known = merged.get(group.group)
    if (known) {
      const positions = [...known.positions, ...group.positions]
      merged.set(group.group, { ...known, error: known.error ?? group.error, positions })
    } else if (group.positions.length > 0 || group.error !== null || lists[0]?.includes(group)) {
      merged.set(group.group, group)
    }
  }
  return [...merged.values()]
}

/**
 * Pure. What says whether there are committed offsets of the topics of a restore: the section of the generation, or those of
 * the topics that are not current in it. Where the generation has none because nobody asked for them, the others still count.
 */
export function sectionFor(
  current: GroupsSection | undefined,
  own: readonly (TakenGroups | undefined)[],
): GroupsSection | undefined {
  const first = own.find(one => one !== undefined)
  const isCurrentNeeded = own.includes(undefined) && current !== undefined && current.state !== 'off'
  return first && !isCurrentNeeded ? first : current
}
