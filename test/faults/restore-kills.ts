import { createRandom } from '../fakes/faulty-storage.ts'
import { signalAfter } from './command.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import type { Lab } from './lab.ts'
import {
  changeTarget,
  compareTarget,
  dropTarget,
  makeTarget,
  type RestoreSubject,
  restoreSubject,
  runRestore,
  stageOf,
  startRestore,
  type Target,
} from './restore-lab.ts'

export const restoreKilled: Fault = {
  name: 'a restore is killed at a random moment',
  inject:
    'SIGKILL to the restore at a random moment between its start and its end; then the command is run again, and killed again',
  promise: 'at the end every record exists once, and every topic has its settings',
  rounds: { test: 1, soak: 200 },
  run: killRestores,
}

async function killRestores(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const random = createRandom(seed)
  const count = new Count('lost', 'duplicated', 'wrong', 'other settings', 'other exit codes')
  const subject = await restoreSubject(lab)
  const pace = { wholeMs: await timeRestore(lab, subject) }
  while (count.injected < rounds) {
    const target = await makeTarget(lab, subject)
    await killUntilDone(lab, subject, target, pace, random, count)
    count.add(await compareTarget(lab, subject, target))
    await dropTarget(lab, target)
  }
  return count.outcome
}

/** Up to five deaths on one target; a machine that has got faster lets some runs finish before. */
async function killUntilDone(
  lab: Lab,
  subject: RestoreSubject,
  target: Target,
  pace: { wholeMs: number },
  random: () => number,
  count: Count,
): Promise<void> {
  for (let deaths = 1 + Math.floor(random() * 5); deaths > 0; deaths--) {
    // Batches of another size each time, so that what is there does not end where the next ones begin.
    await changeTarget(target, { batch_bytes: `${16 + Math.floor(random() * 48)}KiB` })
    const startedAt = performance.now()
    // What happens before the first request is the same in each run: few moments there are enough.
    const moment = random() < 0.1 ? random() * 0.3 : 0.3 + random() * 0.75
    const { code, signal, stderr } = await signalAfter(startRestore(target), 'SIGKILL', moment * pace.wholeMs)
    if (signal === 'SIGKILL') {
      count.injected++
      count.saw(await stageOf(lab, subject, target))
      continue
    }
    count.saw('finished before it')
    pace.wholeMs = (pace.wholeMs + performance.now() - startedAt) / 2
    if (code === 0) return
    process.stderr.write(stderr)
    count.add({ 'other exit codes': 1 })
  }
  const { code, stderr } = await runRestore(target)
  if (code === 0) return
  process.stderr.write(stderr)
  count.add({ 'other exit codes': 1 })
}

async function timeRestore(lab: Lab, subject: RestoreSubject): Promise<number> {
  const target = await makeTarget(lab, subject)
  const startedAt = performance.now()
  await startRestore(target).ended
  const wholeMs = performance.now() - startedAt
  await dropTarget(lab, target)
  return wholeMs
}
