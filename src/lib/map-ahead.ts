/**
 * What becomes of the values, in their order, of which `width` are worked on at a time: while one is in use, the next ones
 * are on their way. A failure is told in its turn.
 */
export async function* mapAhead<T, R>(
  source: AsyncIterable<T>,
  width: number,
  task: (value: T) => Promise<R>,
): AsyncGenerator<R> {
  const iterator = source[Symbol.asyncIterator]()
  const begin = () => {
    const next = iterator.next().then(async result => (result.done ? undefined : { value: await task(result.value) }))
    // It is looked at in its turn, and until then its failure is nobody's.
    next.catch(() => undefined)
    return next
  }
  const underWay = Array.from({ length: width }, begin)
  try {
    for (let result = await underWay[0]; result; result = await underWay[0]) {
      underWay.shift()
      underWay.push(begin())
      yield result.value
    }
  } finally {
    await Promise.allSettled(underWay)
    await iterator.return?.()
  }
}
