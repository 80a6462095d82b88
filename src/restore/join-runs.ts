/** Records of a stream, counted from its first one, and their offsets on one side. */
export interface PlacedRun {
  position: bigint
  offset: bigint
  count: bigint
}

export interface MappedRun {
  sourceOffset: bigint
  targetOffset: bigint
  count: bigint
}

/** Both sides of each record that both know. Either comes in the order of positions. */
export async function* meetRuns(
  sent: AsyncGenerator<PlacedRun>,
  placed: AsyncGenerator<PlacedRun>,
): AsyncGenerator<MappedRun> {
  try {
    let [source, target] = await Promise.all([next(sent), next(placed)])
    while (source && target) {
      const start = greater(source.position, target.position)
      const end = lesser(endOf(source), endOf(target))
      if (start < end) {
        const sourceOffset = source.offset + start - source.position
        yield { sourceOffset, targetOffset: target.offset + start - target.position, count: end - start }
      }
      const isDone = [endOf(source) <= end, endOf(target) <= end]
      if (isDone[0]) source = await next(sent)
      if (isDone[1]) target = await next(placed)
    }
  } finally {
    await Promise.all([sent.return(undefined), placed.return(undefined)])
  }
}

/** Runs that go on in one another become one; every hole on either side begins a new one. */
export async function* joinRuns(runs: AsyncIterable<MappedRun>): AsyncGenerator<MappedRun> {
  let open: MappedRun | undefined
  for await (const run of runs) {
    const goesOn =
      open && run.sourceOffset === open.sourceOffset + open.count && run.targetOffset === open.targetOffset + open.count
    if (open && goesOn) {
      open = { ...open, count: open.count + run.count }
      continue
    }
    if (open) yield open
    open = run
  }
  if (open) yield open
}

async function next(runs: AsyncGenerator<PlacedRun>): Promise<PlacedRun | undefined> {
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
