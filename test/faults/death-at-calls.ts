import { join } from 'node:path'
import { backUp } from '../e2e/backup-job.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { type Ended, startProcess } from './command.ts'
import { compare, examine, snapshot } from './examine.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import { type KillMoment, pickMoments } from './kill-moments.ts'
import { copyBase, emptyStore, type Lab, type Place, prepareSubject } from './lab.ts'

export const deathAtEveryCall: Fault = {
  name: 'killed at every call to the store',
  inject:
    'SIGKILL at call 1, 2, … to the last of a run, before the call or after it took effect; then the command is run again',
  promise: 'the old or the new state verifies, never neither; the next run completes it exactly',
  // `make soak` takes both moments of every call, of which a run has fewer than this.
  rounds: { test: 1, soak: 1000 },
  run: runDeaths,
}

const child = join(import.meta.dirname, 'dying-backup.ts')

async function runDeaths(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const count = new Count('unreadable', 'changed', 'lost', 'duplicated', 'wrong', 'survived')
  const subject = await prepareSubject(lab, { partitions: 2, records: 6000, valueBytes: 1000 })
  const counted = await runChild(await copyBase(lab, subject), 0, 'kill-before')
  const calls = Number(counted.stdout)
  if (!(calls > 15)) throw new Error(`the run makes ${calls} calls: ${counted.stderr}`)
  count.saw('calls of a run', calls)
  for (const [nth, moment] of pickMoments(calls, rounds, createRandom(seed))) {
    const place = await copyBase(lab, subject)
    const before = await snapshot(place)
    const { signal, stdout } = await runChild(place, nth, moment)
    if (signal === 'SIGKILL') count.injected++
    // A slow run commits once more on the way; a faster one has fewer calls than were counted.
    else if (Number(stdout) > 0 && Number(stdout) < nth) count.saw('ended before that call')
    else count.add({ survived: 1 })
    count.add(await examine(place, before))
    await backUp(place.spec)
    count.add({ ...(await compare(place, subject)) })
    await emptyStore(place)
  }
  return count.outcome
}

function runChild({ spec }: Place, nth: number, moment: KillMoment): Promise<Ended> {
  return startProcess(process.execPath, [child, JSON.stringify({ spec, nth, moment })]).ended
}
