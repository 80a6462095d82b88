import { createRandom } from '../fakes/faulty-storage.ts'
import { type Ended, signalAfter } from './command.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import type { Lab } from './lab.ts'
import {
  compareTarget,
  dropTarget,
  hasMissedTheEnd,
  makeTarget,
  restoreSubject,
  runRestore,
  startRestore,
  type Target,
} from './restore-lab.ts'

const SHARDS = 3
const CONFLICT = 5

export const restoreShardsKilled: Fault = {
  name: 'a shard of a restore is killed, or runs twice',
  inject:
    'three shards restore together, the first of which prepares the restore; one of them runs twice at once, and shards and the last step get SIGKILL at random moments; then they are run again',
  promise:
    'at the end every record exists once, and every topic has its settings; a second run of a shard exits with 5, or with 1 if the first one ended since it began',
  rounds: { test: 2, soak: 60 },
  run: killShards,
}

async function killShards(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const random = createRandom(seed)
  const count = new Count('lost', 'duplicated', 'wrong', 'other settings', 'other exit codes')
  const subject = await restoreSubject(lab)
  const pace = { wholeMs: 0 }
  while (count.injected < rounds) {
    const target = await makeTarget(lab, subject)
    // The first target shows how long the shards take; there one of them runs twice.
    if (pace.wholeMs === 0) pace.wholeMs = await runTwice(target, count)
    else await killUntilDone(target, pace, random, count)
    await finish(target, pace, random, count)
    count.add(await compareTarget(lab, subject, target))
    await dropTarget(lab, target)
  }
  return count.outcome
}

const shardOf = (index: number) => ['--prepare', '--shard', `${index}/${SHARDS}`]

/** How long the shards took. */
async function runTwice(target: Target, count: Count): Promise<number> {
  const startedAt = performance.now()
  const ended = await Promise.all([0, 1, 2, 1].map(index => startRestore(target, ...shardOf(index)).ended))
  const wholeMs = performance.now() - startedAt
  count.saw(`one twice: exit ${ended.map(({ code }) => code).join(', ')}`)
  expectCodes(
    ended.filter(one => !hasMissedTheEnd(one)),
    [0, CONFLICT],
    count,
  )
  // Both may find a note of the other.
  expectCodes([await runRestore(target, '--shard', `1/${SHARDS}`)], [0], count)
  return wholeMs
}

/** As a Job does it: every shard that was killed is run again, while the others run or wait for it. */
async function killUntilDone(
  target: Target,
  { wholeMs }: { wholeMs: number },
  random: () => number,
  count: Count,
): Promise<void> {
  let deaths = 1 + Math.floor(random() * 4)
  const runToEnd = async (index: number) => {
    for (;;) {
      const running = startRestore(target, ...shardOf(index))
      const isMarked = deaths > 0 && random() < 0.6
      if (isMarked) deaths--
      const ended = await (isMarked ? signalAfter(running, 'SIGKILL', random() * wholeMs) : running.ended)
      if (ended.signal !== 'SIGKILL') return expectCodes([ended], [0], count)
      count.injected++
      count.saw(`shard ${index} killed`)
    }
  }
  await Promise.all([0, 1, 2].map(runToEnd))
}

async function finish(
  target: Target,
  { wholeMs }: { wholeMs: number },
  random: () => number,
  count: Count,
): Promise<void> {
  if (random() < 0.5) {
    const { signal } = await signalAfter(startRestore(target, '--finish'), 'SIGKILL', random() * wholeMs)
    if (signal === 'SIGKILL') {
      count.injected++
      count.saw('last step killed')
    }
  }
  expectCodes([await runRestore(target, '--finish')], [0], count)
}

function expectCodes(ended: readonly Ended[], codes: readonly number[], count: Count): void {
  const others = ended.filter(({ code }) => code === null || !codes.includes(code))
  for (const { stderr } of others) process.stderr.write(stderr)
  count.add({ 'other exit codes': others.length })
}
