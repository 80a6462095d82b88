/**
 * Runs the task for every item, at most `width` at a time, and returns the results in the order of the items. After the
 * first failure nothing new is started; what runs is waited for, then that failure is thrown.
 */
export async function runPool<T, R>(
  items: Iterable<T>,
  width: number,
  task: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const iterator = items[Symbol.iterator]()
  let next = 0
  let failure: { error: unknown } | undefined

  const worker = async () => {
    while (failure === undefined) {
      try {
        const { value, done } = iterator.next()
        if (done) return
        const index = next++
        results[index] = await task(value, index)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: width }, worker))
  if (failure !== undefined) throw failure.error
  return results
}
