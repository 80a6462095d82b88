/** Records that lie side by side at the source and on the target. */
export interface MapRun {
  /** Of the source. */
  partition: number
  sourceOffset: bigint
  targetOffset: bigint
  count: bigint
}

/** The positions of one group on the partitions whose records are in one partition of the target. */
export interface Wanted {
  group: string
  byPartition: ReadonlyMap<number, bigint>
}

export interface Found {
  offset: bigint
  /** The record of the source that is there; absent behind the last one. */
  record?: { partition: number; offset: bigint }
  /** Records behind the position that the group had read at the source, and reads again. */
  rereads: bigint
}

/**
 * The offset where each group continues in one partition of the target: at the lowest record that it has not read, else at `end`. The
 * records of one partition of the source keep their order, so that nothing is read again; where several have gone into
 * one, what was read and lies behind is. A partition on which the group has no position counts as unread.
 */
export async function translate(
  runs: AsyncIterable<MapRun>,
  { wanted, end, isSingle }: { wanted: readonly Wanted[]; end: bigint; isSingle: boolean },
): Promise<Map<string, Found>> {
  const found = new Map<string, Found>()
  for await (const run of runs) {
    for (const one of wanted) {
      const known = found.get(one.group)
      if (known) known.rereads += countRead(run, one)
      else {
        const first = findUnread(run, one)
        if (first) found.set(one.group, first)
      }
    }
    if (isSingle && found.size === wanted.length) break
  }
  for (const { group } of wanted) if (!found.has(group)) found.set(group, { offset: end, rereads: 0n })
  return found
}

function findUnread(
  { partition, sourceOffset, targetOffset, count }: MapRun,
  { byPartition }: Wanted,
): Found | undefined {
  const position = byPartition.get(partition) ?? 0n
  const first = position > sourceOffset ? position : sourceOffset
  if (first >= sourceOffset + count) return undefined
  return { offset: targetOffset + first - sourceOffset, record: { partition, offset: first }, rereads: 0n }
}

function countRead({ partition, sourceOffset, count }: MapRun, { byPartition }: Wanted): bigint {
  const read = (byPartition.get(partition) ?? 0n) - sourceOffset
  return read <= 0n ? 0n : read < count ? read : count
}
