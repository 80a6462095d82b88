/** The same values in the same order, with the next one requested while one is in use. */
export function readAhead<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  return mapAhead(source, 1, async value => value)
}

/**
 * The results of the task in the order of the values. `width` values are processed ahead while one result is in use. A
 * failure is thrown when its turn comes.
 */
export async function* mapAhead<T, R>(
  source: AsyncIterable<T>,
  width: number,
  task: (value: T) => Promise<R>,
): AsyncGenerator<R> {
  const iterator = source[Symbol.asyncIterator]()
  const begin = () => {
    const next = iterator.next().then(async result => (result.done ? undefined : { value: await task(result.value) }))
    // Handled when its turn comes; until then it must not count as unhandled.
    next.catch(() => undefined)
    return next
  }
  const started = Array.from({ length: width }, begin)
  try {
    for (let result = await started[0]; result; result = await started[0]) {
      started.shift()
      started.push(begin())
      yield result.value
    }
  } finally {
    await Promise.allSettled(started)
    await iterator.return?.()
  }
}
