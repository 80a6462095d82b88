import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../fakes/faulty-storage.ts'
import { waitFor } from '../wait-for.ts'
import type { Ended } from './command.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import type { Lab } from './lab.ts'
import {
  compareTarget,
  dropTarget,
  hasMissedTheEnd,
  makeTarget,
  type RestoreSubject,
  restoreSubject,
  runRestore,
  startRestore,
  type Target,
} from './restore-lab.ts'

const CONFLICT = 5

export const restoresAtOnce: Fault = {
  name: 'a restore runs at the same time as another',
  inject:
    'the same restore runs twice at once, or another one writes to the same topics, or one is suspended while the other runs to its end',
  promise:
    'one continues and is exact, or all that wrote exit with 5 and report it; the same command reports it again afterwards',
  // One of each kind in `make test`.
  rounds: { test: 3, soak: 45 },
  run: meetOthers,
}

export const foreignProducer: Fault = {
  name: 'another producer writes to a topic of a restore',
  inject: 'a record by another producer at a random moment of a restore, to a topic that it fills or has filled',
  promise: 'the restore exits with 5, also when the command is run again',
  rounds: { test: 1, soak: 12 },
  run: meetProducer,
}

interface Trial {
  lab: Lab
  subject: RestoreSubject
  target: Target
  random: () => number
  wholeMs: number
}

/** A run, and the target whose job it has. */
interface Run {
  of: Target
  ended: Ended
}

type Race = (trial: Trial) => Promise<Run[]>

const races: [string, Race][] = [
  ['the same twice', runTwice],
  ['another restore', runBesideAnother],
  ['one suspended', wakeUp],
]

async function meetOthers(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const count = new Count('silent damage', 'damage forgotten', 'other exit codes')
  const trials = await prepareTrials(lab, seed)
  for (let round = 0; round < rounds; round++) {
    const trial = await trials()
    const [name, hold] = races[round % races.length] ?? ['', runTwice]
    const runs = await hold(trial)
    count.injected++
    count.saw(
      `${name}: exit ${runs
        .map(({ ended }) => ended.code)
        .toSorted()
        .join(' and ')}`,
    )
    count.add({ 'other exit codes': runs.filter(({ ended }) => !isExpected(ended)).length })
    const reporters = runs.filter(({ ended }) => ended.code === CONFLICT).map(({ of }) => of)
    await judge(trial, reporters, count)
  }
  return count.outcome
}

/**
 * A run has reported what is wrong, and the same command reports it again. After the last check of a restore the topic belongs to its users: a restore
 * that was complete before the other one wrote has nothing to report.
 */
async function judge({ lab, subject, target }: Trial, reporters: readonly Target[], count: Count): Promise<void> {
  const { code, stderr } = await runRestore(target)
  const { lost, duplicated, wrong } = await compareTarget(lab, subject, target)
  const isExact = lost + duplicated + wrong === 0
  if (!isExact && reporters.length === 0) process.stderr.write(stderr)
  count.saw(isExact ? 'exact in the end' : 'not exact, and reported')
  const [other] = reporters.includes(target) ? [] : reporters
  const isReportedAgain = isExact || (other ? (await runRestore(other)).code !== 0 : code === CONFLICT)
  count.add({ 'silent damage': isExact || reporters.length > 0 ? 0 : 1, 'damage forgotten': isReportedAgain ? 0 : 1 })
  await dropTarget(lab, target)
}

/** One that finds the topics of the other in its way before it has written anything is refused. */
function isExpected(ended: Ended): boolean {
  const { code, stderr } = ended
  const isRefused = code === 1 && stderr.includes('RESTORE_REFUSED')
  const isFine = code === 0 || code === CONFLICT || isRefused || hasMissedTheEnd(ended)
  if (!isFine) process.stderr.write(stderr)
  return isFine
}

async function runTwice({ target, random, wholeMs }: Trial): Promise<Run[]> {
  const first = startRestore(target)
  // Half of the races start together, the others within a run.
  await sleep(random() < 0.5 ? 0 : random() * wholeMs)
  const second = runRestore(target)
  return [
    { of: target, ended: await first.ended },
    { of: target, ended: await second },
  ]
}

async function runBesideAnother({ lab, subject, target, random, wholeMs }: Trial): Promise<Run[]> {
  const other = await makeTarget(lab, subject, {
    into: target,
    restore: { restore_id: `other-${target.config.length}` },
  })
  const first = startRestore(target)
  await sleep(random() < 0.5 ? 0 : random() * wholeMs)
  const second = runRestore(other)
  return [
    { of: target, ended: await first.ended },
    { of: other, ended: await second },
  ]
}

async function wakeUp({ target, random, wholeMs }: Trial): Promise<Run[]> {
  const sleeper = startRestore(target)
  await Promise.race([sleep((0.3 + 0.7 * random()) * wholeMs), sleeper.ended])
  sleeper.send('SIGSTOP')
  const other = await runRestore(target)
  sleeper.send('SIGCONT')
  return [
    { of: target, ended: await sleeper.ended },
    { of: target, ended: other },
  ]
}

async function meetProducer(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const count = new Count('silent damage', 'damage forgotten', 'other exit codes')
  const trials = await prepareTrials(lab, seed)
  while (count.injected < rounds) {
    const trial = await trials()
    const { target, random, wholeMs } = trial
    const restore = startRestore(target)
    const topic = target.names.get('restore-old') ?? ''
    await waitForTopic(lab, topic)
    await sleep(random() * 0.3 * wholeMs)
    const isOver = await Promise.race([restore.ended.then(() => true), sleep(0).then(() => false)])
    if (!isOver)
      await lab.driver.produce(topic, [{ partition: 0, key: Buffer.from('k'), value: Buffer.from('foreign') }])
    const { code } = await restore.ended
    // Behind the last look of a restore the topic belongs to its users.
    const isHit = !isOver && code !== 0
    count.saw(isHit ? `exit ${code}` : 'finished before it')
    if (isHit) count.injected++
    if (isHit) await judge(trial, code === CONFLICT ? [target] : [], count)
    else await dropTarget(lab, target)
  }
  return count.outcome
}

async function waitForTopic(lab: Lab, topic: string): Promise<void> {
  await waitFor(`topic ${topic} is there`, () =>
    lab.driver.endOffsets(topic).then(
      () => true,
      () => false,
    ),
  )
}

/** Slow enough to be met in the middle. */
async function prepareTrials(lab: Lab, seed: number): Promise<() => Promise<Trial>> {
  const random = createRandom(seed)
  const subject = await restoreSubject(lab)
  const wholeMs = durations.get(lab) ?? (await timeRestore(lab, subject))
  durations.set(lab, wholeMs)
  return async () => ({ lab, subject, random, wholeMs, target: await makeTarget(lab, subject, { restore }) })
}

const restore = { rate_limit: '2MiB' }
const durations = new WeakMap<Lab, number>()

async function timeRestore(lab: Lab, subject: RestoreSubject): Promise<number> {
  const target = await makeTarget(lab, subject, { restore })
  const startedAt = performance.now()
  await startRestore(target).ended
  const wholeMs = performance.now() - startedAt
  await dropTarget(lab, target)
  return wholeMs
}
