/** Waits for the work until the signal is aborted. An abort ends only the waiting, not the work. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    const settle = (end: () => void) => {
      signal.removeEventListener('abort', onAbort)
      end()
    }
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(
      result => settle(() => resolve(result)),
      error => settle(() => reject(error)),
    )
    if (signal.aborted) onAbort()
  })
}
