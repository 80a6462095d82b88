/** Records of a stream, counted from its first one, and their offsets on one side. */
export interface PlacedRun {
  position: bigint
  offset: bigint
  count: bigint
}

/** A run on the side of the source, which may have several partitions. */
export interface SentRun extends PlacedRun {
  partition: number
}

export interface MappedRun {
  sourcePartition: number
  sourceOffset: bigint
  targetOffset: bigint
  count: bigint
}

/** Both sides of each record that both know. Either comes in the order of positions. */
export async function* meetRuns(
  sent: AsyncGenerator<SentRun>,
  placed: AsyncGenerator<PlacedRun>,
): AsyncGenerator<MappedRun> {
  try {
    let [source, target] = await Promise.all([next(sent), next(placed)])
    while (source && target) {
      const start = greater(source.position, target.position)
      const end = lesser(endOf(source), endOf(target))
      if (start < end) {
        const { partition: sourcePartition, offset, position } = source
        const sourceOffset = offset + start - position
        const targetOffset = target.offset + start - target.position
        yield { sourcePartition, sourceOffset, targetOffset, count: end - start }
      }
      const isDone = [endOf(source) <= end, endOf(target) <= end]
      if (isDone[0]) source = await next(sent)
      if (isDone[1]) target = await next(placed)
    }
  } finally {
    await Promise.all([sent.return(undefined), placed.return(undefined)])
  }
}

/** Joins adjacent runs; every hole on either side starts a new one. */
export async function* joinRuns(runs: AsyncIterable<MappedRun>): AsyncGenerator<MappedRun> {
  let open: MappedRun | undefined
  for await (const run of runs) {
    if (open && isContiguous(open, run)) {
      open = { ...open, count: open.count + run.count }
      continue
    }
    if (open) yield open
    open = run
  }
  if (open) yield open
}

function isContiguous(open: MappedRun, run: MappedRun): boolean {
  return (
    run.sourcePartition === open.sourcePartition &&
    run.sourceOffset === open.sourceOffset + open.count &&
    run.targetOffset === open.targetOffset + open.count
  )
}

async function next<T extends PlacedRun>(runs: AsyncGenerator<T>): Promise<T | undefined> {
  const { value, done } = await runs.next()
  return done ? undefined : value
}

function endOf({ position, count }: PlacedRun): bigint {
  return position + count
}

function greater(a: bigint, b: bigint): bigint {
  if (b > a) return b
  return a
}

function lesser(a: bigint, b: bigint): bigint {
  if (b < a) return b
  return a
}
