import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listGenerations, openBackup, readManifest } from '../../src/archive/catalog.ts'
import { leasesPrefix } from '../../src/archive/layout.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { pruneAt } from '../../src/jobs/prune.ts'
import { ReferenceReader } from '../../src/retention/reference-reader.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { backUp } from '../e2e/backup-job.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { hashChain } from '../oracle/records.ts'
import { type Ended, startBackup, startProcess } from './command.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import { type KillMoment, pickMoments } from './kill-moments.ts'
import { copyBase, emptyStore, type Lab, openPlace, type Place, prepareSubject, type Subject } from './lab.ts'

export const pruneDeaths: Fault = {
  name: 'a prune is killed at every call to the store',
  inject:
    'SIGKILL at call 1, 2, … to the last of a prune without a grace period, before the call or after it took effect; then the command is run again',
  promise: 'no manifest refers to a removed object; the next prune completes the work, and what is left is exact',
  // `make soak` takes both moments of every call, of which a prune has fewer than this.
  rounds: { test: 1, soak: 1000 },
  only: 'filesystem',
  run: runDeaths,
}

export const pruneBesideBackup: Fault = {
  name: 'a prune while a backup runs',
  inject: 'a prune without a grace period at a random moment of a backup of the same id, in separate processes',
  promise: 'the backup succeeds; no manifest refers to a removed object, and what is left is exact',
  rounds: { test: 1, soak: 60 },
  only: 'filesystem',
  run: runRaces,
}

const never = new AbortController().signal
const child = join(import.meta.dirname, 'dying-prune.ts')
const silent = { onProgress: () => undefined }

async function runDeaths(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const count = new Count('missing', 'unreadable', 'wrong', 'failed prunes')
  const subject = await prepareSubject(lab, { partitions: 2, records: 4000, valueBytes: 1000 })
  const counted = await runChild(await agedPlace(lab, subject), 0, 'kill-before')
  const calls = Number(counted.stdout)
  if (!(calls > 15)) throw new Error(`the prune makes ${calls} calls: ${counted.stderr}`)
  count.saw('calls of a prune', calls)
  for (const [nth, moment] of pickMoments(calls, rounds, createRandom(seed))) {
    const place = await agedPlace(lab, subject)
    const { signal, code } = await runChild(place, nth, moment)
    if (signal === 'SIGKILL') count.injected++
    // One that takes longer renews its lease, so another may have fewer calls than were counted.
    else if (code === 0) count.saw('ended before that call')
    else count.add({ 'failed prunes': 1 })
    count.add({ missing: await countMissing(openPlace(place)) })
    await finish(place)
    count.add(await judge(lab, place, subject))
    await emptyStore(place)
  }
  return count.outcome
}

async function runRaces(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const random = createRandom(seed)
  const count = new Count('missing', 'unreadable', 'wrong', 'failed backups', 'failed prunes')
  const subject = await prepareSubject(lab, { partitions: 2, records: 20_000, valueBytes: 1000 })
  for (let round = 0; round < rounds; round++) {
    const place = { ...(await copyBase(lab, subject)), cutoffMs: Date.now() }
    const backup = startBackup(place.config).ended
    await sleep(random() * 1500)
    const prune = await runChild(place, 0, 'kill-before')
    const { code } = await backup
    count.injected++
    count.saw(Number(prune.stdout) > 30 ? 'it had the backup to itself' : 'it left the backup alone')
    count.add({ 'failed backups': code === 0 ? 0 : 1, 'failed prunes': prune.code === 0 ? 0 : 1 })
    count.add({ missing: await countMissing(openPlace(place)) })
    await finish(place)
    count.add(await judge(lab, place, subject))
    await emptyStore(place)
  }
  return count.outcome
}

interface AgedPlace extends Place {
  /** What was stored before is too old. */
  cutoffMs: number
}

/** The first half was stored before the cutoff, the second after it. */
async function agedPlace(lab: Lab, subject: Subject): Promise<AgedPlace> {
  const place = await copyBase(lab, subject)
  await sleep(20)
  const cutoffMs = Date.now()
  await sleep(20)
  await backUp(place.spec)
  return { ...place, cutoffMs }
}

function runChild({ spec, cutoffMs }: AgedPlace, nth: number, moment: KillMoment): Promise<Ended> {
  return startProcess(process.execPath, [child, JSON.stringify({ spec, cutoffMs, nth, moment })]).ended
}

/** The next prune, a minute later: the lease of the one that died is dead by then. */
async function finish(place: AgedPlace): Promise<void> {
  const storage = openPlace(place)
  for await (const { key } of storage.list(leasesPrefix('b1'), never)) await storage.remove(key, never)
  const policy = { match: ['*'], olderThanMs: Date.now() - place.cutoffMs, graceMs: 0 }
  await pruneAt(storage, policy, silent, { isDryRun: false }, never)
}

async function countMissing(storage: Storage): Promise<number> {
  const reader = new ReferenceReader(storage)
  let missing = 0
  for (const generation of await listGenerations(storage, 'b1', never)) {
    for (const key of await reader.read(await readManifest(storage, 'b1', generation, never), never)) {
      if (!(await storage.stat(key, never))) missing++
    }
  }
  return missing
}

/** All of the second half is there, and nothing else. */
async function judge(lab: Lab, place: Place, subject: Subject): Promise<{ unreadable: number; wrong: number }> {
  const storage = openPlace(place)
  const { ok } = await verifyBackup(storage, 'b1', { deep: true, ...silent }, never)
  const { topics } = await openBackup(storage, 'b1', never)
  const starts = topics[0]?.partitions.map(({ start_offset }) => start_offset) ?? []
  const source = await lab.driver.consume(subject.topic, { isolation: 'read_committed' })
  const archived = await readArchivedTopic(storage, 'b1', subject.topic)
  const isRight = source.every((records, at) => {
    const left = records.filter(({ offset }) => (offset ?? 0n) >= (starts[at] ?? 0n))
    return left.length === records.length / 2 && hashChain(left) === hashChain(archived[at] ?? [])
  })
  return { unreadable: ok ? 0 : 1, wrong: isRight ? 0 : 1 }
}
