/** The same values in the same order; while one is in use the next one is on its way. */
export async function* readAhead<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]()
  const begin = () => {
    const next = iterator.next()
    // It is looked at in its turn, and until then its failure is nobody's.
    next.catch(() => undefined)
    return next
  }
  let next = begin()
  try {
    for (let result = await next; !result.done; result = await next) {
      next = begin()
      yield result.value
    }
  } finally {
    await next.catch(() => undefined)
    await iterator.return?.()
  }
}
