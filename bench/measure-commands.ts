import { openBackup } from '../src/archive/catalog.ts'
import { describeBackup } from '../src/archive/describe.ts'
import { listBackups } from '../src/archive/list-backups.ts'
import { openGeneration } from '../src/archive/log/open-generation.ts'
import { readJob } from '../src/config/load-job.ts'
import { restoreOptions } from '../src/jobs/restore.ts'
import { examineArchive } from '../src/restore/examine-archive.ts'
import { planRestore } from '../src/restore/plan.ts'
import type { Storage } from '../src/storage/storage.ts'
import { median } from './measure.ts'
import type { SimulatedLog } from './simulated-log.ts'

export interface Cost {
  requests: number
  ms: number
}
export const commands = ['open', 'list', 'describe', 'plan', 'prune'] as const
export type Command = (typeof commands)[number]

const { signal } = new AbortController()
const ROUNDS = 5
const place = { target: { bootstrap_servers: ['localhost:9092'] }, storage: { backend: 'filesystem', path: '/none' } }
const options = restoreOptions(
  readJob({ mode: 'restore', backup_id: 'b', ...place }, { mode: 'restore', source: 'the bench' }),
)

/** What commands cost at this moment: requests to the store, and the median time of some runs. A prune runs once, as the one of the day. */
export async function measureCommands(log: SimulatedLog): Promise<Record<Command, Cost>> {
  const plan = async (storage: Storage) => {
    const planned = planRestore(await openBackup(storage, 'b', signal), options)
    const { findings } = await examineArchive(storage, planned, { ...options, progress: undefined }, signal)
    if (findings.length > 0) throw new Error(`the plan has findings: ${JSON.stringify(findings[0])}`)
  }
  return {
    // Before a prune, which may commit a checkpoint.
    open: await measure(log.storage, storage => openGeneration(storage, 'b', log.generation, signal)),
    prune: await measure(log.storage, storage => log.prune(signal, storage), 1),
    list: await measure(log.storage, storage => listBackups(storage, signal)),
    describe: await measure(log.storage, storage => describeBackup(storage, 'b', {}, signal)),
    plan: await measure(log.storage, plan),
  }
}

async function measure(storage: Storage, work: (storage: Storage) => Promise<unknown>, rounds = ROUNDS): Promise<Cost> {
  const times: number[] = []
  let requests = 0
  for (let round = 0; round < rounds; round++) {
    requests = 0
    const startedAt = performance.now()
    const add = (count: number) => {
      requests += count
    }
    await work(countRequests(storage, add))
    times.push(performance.now() - startedAt)
  }
  return { requests, ms: median(times) }
}

/** The keys that one request to a bucket lists. */
const LISTED_AT_ONCE = 1000

/** The same store; reports every request that a bucket would get. */
function countRequests(storage: Storage, onRequests: (count: number) => void): Storage {
  const listed = async function* <T>(items: AsyncIterable<T>): AsyncGenerator<T> {
    let count = 0
    for await (const item of items) {
      if (count++ % LISTED_AT_ONCE === 0) onRequests(1)
      yield item
    }
    if (count === 0) onRequests(1)
  }
  const one = <A extends unknown[], R>(call: (...args: A) => R) => {
    return (...args: A): R => {
      onRequests(1)
      return call(...args)
    }
  }
  const { create, replace, openWriter, read, readRange, stat, remove } = storage
  return {
    ...storage,
    ...{ create: one(create), replace: one(replace), openWriter: one(openWriter), remove: one(remove) },
    ...{ read: one(read), readRange: one(readRange), stat: one(stat) },
    list: (prefix, listSignal) => listed(storage.list(prefix, listSignal)),
    listFolders: (prefix, listSignal) => listed(storage.listFolders(prefix, listSignal)),
  }
}
