import type { Storage } from '../../src/storage/storage.ts'
import { SimulatedTime, settle } from './simulated-time.ts'

/** How long each request takes. */
export const ROUND_TRIP_MS = 100

export interface FarStorage {
  storage: Storage
  time: SimulatedTime
  /** Requests in their order, as `operation key`. */
  requests: string[]
}

/**
 * The same store, 100 ms away by a clock that passes only where everything else waits. So the time of some work tells how many requests follow
 * each other in it, however busy the machine is. A listing is one request, a writer one when it is committed.
 */
export function openFarStorage(near: Storage): FarStorage {
  const time = new SimulatedTime()
  const clock = time.clock()
  const requests: string[] = []
  const far = async <T>(request: string, signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T> => {
    requests.push(request)
    await clock.sleep(ROUND_TRIP_MS, signal)
    return call()
  }
  const listed = async function* <T>(request: string, signal: AbortSignal, items: AsyncIterable<T>): AsyncGenerator<T> {
    await far(request, signal, async () => undefined)
    yield* items
  }
  const storage: Storage = {
    location: near.location,
    writerBytes: near.writerBytes,
    create: (key, body, signal) => far(`create ${key}`, signal, () => near.create(key, body, signal)),
    replace: (key, body, signal) => far(`replace ${key}`, signal, () => near.replace(key, body, signal)),
    openWriter: async (key, signal) => {
      const writer = await near.openWriter(key, signal)
      return {
        write: (chunks, writeSignal) => writer.write(chunks, writeSignal),
        commit: commitSignal => far(`commit ${key}`, commitSignal, () => writer.commit(commitSignal)),
        abort: () => writer.abort(),
      }
    },
    read: (key, signal) => far(`read ${key}`, signal, () => near.read(key, signal)),
    readRange: (key, start, length, signal) =>
      far(`readRange ${key}`, signal, () => near.readRange(key, start, length, signal)),
    stat: (key, signal) => far(`stat ${key}`, signal, () => near.stat(key, signal)),
    list: (prefix, signal) => listed(`list ${prefix}`, signal, near.list(prefix, signal)),
    listFolders: (prefix, signal) => listed(`listFolders ${prefix}`, signal, near.listFolders(prefix, signal)),
    remove: (key, signal) => far(`remove ${key}`, signal, () => near.remove(key, signal)),
    close: () => near.close(),
  }
  return { storage, time, requests }
}

/** How many requests followed each other until the work was done. */
export async function countRoundTrips<T>(
  { time }: Pick<FarStorage, 'time'>,
  work: () => Promise<T>,
): Promise<{ result: T; roundTrips: number }> {
  const startedAt = time.ms
  let outcome: { result: T } | { error: unknown } | undefined
  const done = work().then(
    result => {
      outcome = { result }
    },
    error => {
      outcome = { error }
    },
  )
  while (!outcome) await time.pass(ROUND_TRIP_MS)
  await done
  if ('error' in outcome) throw outcome.error
  return { result: outcome.result, roundTrips: (time.ms - startedAt) / ROUND_TRIP_MS }
}

/** Turns of the loop in which a process that waits for servers within itself gets their responses. */
const PATIENCE = 3000

/**
 * The same of work that also waits for fake brokers. The time passes where no request has come for many turns of the loop; a machine that is too
 * busy for these makes the count higher, never lower, so the lowest of a few runs counts.
 */
export async function countStoreWaits(
  { time, requests }: FarStorage,
  work: () => Promise<unknown>,
): Promise<{ roundTrips: number; waits: string[][] }> {
  const startedAt = time.ms
  const waits: string[][] = []
  let seen = requests.length
  let isDone = false
  const done = work().finally(() => {
    isDone = true
  })
  done.catch(() => undefined)
  while (!isDone) {
    for (let left = PATIENCE, known = requests.length; left > 0 && !isDone; left--) {
      await settle()
      if (requests.length > known) [left, known] = [PATIENCE, requests.length]
    }
    if (isDone || time.pending === 0) continue
    waits.push(requests.slice(seen))
    seen = requests.length
    await time.pass(ROUND_TRIP_MS)
  }
  await done
  return { roundTrips: (time.ms - startedAt) / ROUND_TRIP_MS, waits }
}
