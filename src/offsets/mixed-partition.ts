/**
 * Why a partition of the target has no place for an offset of the source: records of several partitions are mixed in it, so
 * that none of its offsets separates what a group has read from what it has not.
 */
export function mixedProblem(sources: readonly string[]): string {
  const shown = [...new Set(sources)].sort()
  const names = shown.length > 3 ? [...shown.slice(0, 3), `${shown.length - 3} more`] : shown
  return (
    `records of several partitions of the source are mixed here (${names.join(', ')}), so no offset separates what the ` +
    'group has read from what it has not. Restore the group with the records, or set this offset with from_mapping'
  )
}
