import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../fakes/faulty-storage.ts'
import { type Ended, runBackup, startBackup } from './command.ts'
import { compare, examine, snapshot } from './examine.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import { copyBase, emptyStore, type Lab, makePlace, type Place, prepareSubject, type Subject } from './lab.ts'

const CONFLICT = 5

export const twoWriters: Fault = {
  name: 'two writers at once',
  inject: 'two commands on one backup_id, started together or a moment apart, on an empty store or a backup',
  promise: 'the second waits for the first and succeeds, or exits with 5; nothing is mixed, and the result is exact',
  rounds: { test: 2, soak: 40 },
  run: (lab, options) => raceWriters(lab, options, race),
}

export const wakingWriter: Fault = {
  name: 'a writer wakes up after another has committed',
  inject: 'SIGSTOP at a random moment, another command waits for the lease to expire and runs to its end, SIGCONT',
  promise: 'the suspended one exits with 5, or had committed before; nothing is mixed, and the result is exact',
  rounds: { test: 1, soak: 30 },
  run: (lab, options) => raceWriters(lab, options, overtake),
}

type Race = (place: Place, random: () => number, wholeMs: number) => Promise<Ended[]>

async function raceWriters(lab: Lab, { rounds, seed }: FaultOptions, hold: Race): Promise<Outcome> {
  const random = createRandom(seed)
  const count = new Count('unreadable', 'changed', 'lost', 'duplicated', 'wrong', 'other exit codes', 'no winner')
  const subject = await prepareSubject(lab, { partitions: 4, records: 20_000, valueBytes: 1000 })
  const wholeMs = durations.get(lab) ?? (await timeRun(lab, subject))
  durations.set(lab, wholeMs)
  for (let round = 0; round < rounds; round++) {
    const place = round % 2 === 0 ? await makePlace(lab, subject.topic) : await copyBase(lab, subject)
    const before = await snapshot(place)
    const ended = await hold(place, random, wholeMs)
    count.injected++
    const codes = ended.map(({ code }) => code)
    count.saw(codes.includes(CONFLICT) ? 'one exited with 5' : 'both succeeded')
    count.add({
      'other exit codes': codes.filter(code => code !== 0 && code !== CONFLICT).length,
      'no winner': codes.includes(0) ? 0 : 1,
      ...(await examine(place, before)),
    })
    count.add({ ...(await compare(place, subject)) })
    await emptyStore(place)
  }
  return count.outcome
}

const durations = new WeakMap<Lab, number>()

async function timeRun(lab: Lab, { topic }: Subject): Promise<number> {
  const place = await makePlace(lab, topic)
  const startedAt = performance.now()
  await startBackup(place.config).ended
  await emptyStore(place)
  return performance.now() - startedAt
}

async function race({ config }: Place, random: () => number, wholeMs: number): Promise<Ended[]> {
  const first = startBackup(config)
  // Half of the races start together, the others within half a run.
  await sleep(random() < 0.5 ? 0 : random() * 0.5 * wholeMs)
  return Promise.all([first.ended, runBackup(config)])
}

async function overtake({ config }: Place, random: () => number, wholeMs: number): Promise<Ended[]> {
  const sleeper = startBackup(config)
  await Promise.race([sleep((0.2 + 0.8 * random()) * wholeMs), sleeper.ended])
  sleeper.send('SIGSTOP')
  const other = await runBackup(config)
  sleeper.send('SIGCONT')
  return [await sleeper.ended, other]
}
