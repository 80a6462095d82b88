import { createRandom } from '../fakes/faulty-storage.ts'
import { type Ended, runBackup, signalAfter, startBackup } from './command.ts'
import { compare, examine, snapshot } from './examine.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import { copyBase, emptyStore, type Lab, makePlace, type Place, prepareSubject, type Subject } from './lab.ts'

export const killedAtRandom: Fault = {
  name: 'killed at a random moment',
  inject: 'SIGKILL to the command at a random moment between its start and its end; then the command is run again',
  promise: 'the last commit verifies after every kill; at the end every record exists once',
  rounds: { test: 1, soak: 80 },
  run: (lab, options) => signalRuns(lab, ['SIGKILL'], options),
}

export const stoppedAtRandom: Fault = {
  name: 'stopped by SIGTERM or SIGINT',
  inject: 'SIGTERM or SIGINT at a random moment; then the command is run again',
  promise: 'it exits with 143 or 130, what is committed verifies; at the end every record exists once',
  rounds: { test: 2, soak: 40 },
  run: (lab, options) => signalRuns(lab, ['SIGTERM', 'SIGINT'], options),
}

/** Signals run after run on one backup until it is finished, then begins with another one. */
async function signalRuns(
  lab: Lab,
  signals: readonly NodeJS.Signals[],
  { rounds, seed }: FaultOptions,
): Promise<Outcome> {
  const random = createRandom(seed)
  const count = new Count('unreadable', 'changed', 'lost', 'duplicated', 'wrong', 'other exit codes')
  const subject = await prepareSubject(lab, { partitions: 4, records: 40_000, valueBytes: 1000 })
  const begin = () => (random() < 0.5 ? copyBase(lab, subject) : makePlace(lab, subject.topic))
  const pace = paces.get(lab) ?? (await measurePace(lab, subject))
  paces.set(lab, pace)
  let place = await begin()
  while (count.injected < rounds) {
    const before = await snapshot(place)
    const signal = signals[count.injected % signals.length] ?? 'SIGKILL'
    const ended = await pace.run(place, signal, random)
    const isStruck = ended.code !== 0
    if (isStruck) count.injected++
    count.saw(isStruck ? `ended by ${signal}` : 'finished before it')
    if (isStruck && !isEndedBy(ended, signal)) count.add({ 'other exit codes': 1 })
    count.add(await examine(place, before))
    if (isStruck && (await snapshot(place)).generation > before.generation) count.saw('with a part committed')
    if (isStruck) continue
    count.add(await finish(place, subject))
    place = await begin()
  }
  await runBackup(place.config)
  count.add(await finish(place, subject))
  return count.outcome
}

const paces = new WeakMap<Lab, Pace>()

async function measurePace(lab: Lab, { topic }: Subject): Promise<Pace> {
  const pace = new Pace()
  const place = await makePlace(lab, topic)
  await pace.run(place, undefined, () => 0)
  await emptyStore(place)
  return pace
}

/** Finds moments inside a run, whose length depends on what else the machine does; runs that finish tell it. */
class Pace {
  #startMs = 0
  #copyMs = 0

  /** One signal in four falls on any moment before the copying, the others on the copying and what comes after it. */
  async run({ config }: Place, signal: NodeJS.Signals | undefined, random: () => number): Promise<Ended> {
    const startedAt = performance.now()
    const running = startBackup(config)
    const isEarly = signal !== undefined && random() < 0.25
    const delayMs = random() * (isEarly ? this.#startMs : 1.1 * this.#copyMs)
    if (!isEarly) await running.speaks
    const spokenAt = performance.now()
    const ended = await (signal ? signalAfter(running, signal, delayMs) : running.ended)
    if (ended.code === 0 && !isEarly) {
      this.#startMs = spokenAt - startedAt
      this.#copyMs = (this.#copyMs + performance.now() - spokenAt) / (this.#copyMs === 0 ? 1 : 2)
    }
    return ended
  }
}

/** A process that is signalled before it has begun to listen dies of the signal, which a shell shows as the same code. */
function isEndedBy({ code, signal }: Ended, sent: NodeJS.Signals): boolean {
  return signal === sent || (sent === 'SIGTERM' && code === 143) || (sent === 'SIGINT' && code === 130)
}

async function finish(place: Place, subject: Subject): Promise<Record<string, number>> {
  const difference = await compare(place, subject)
  await emptyStore(place)
  return { ...difference }
}
