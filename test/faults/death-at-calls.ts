import { join } from 'node:path'
import { backUp } from '../e2e/backup-job.ts'
import { type Ended, startProcess } from './command.ts'
import { compare, examine, snapshot } from './examine.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import { copyBase, emptyStore, type Lab, type Place, prepareSubject } from './lab.ts'

export const deathAtEveryCall: Fault = {
  name: 'killed at every call to the store',
  inject: 'SIGKILL at call 1, 2, … to the last of a run, before the call or after it took effect; then it is run again',
  promise: 'the old or the new state verifies, never neither; the next run completes it exactly',
  // One round takes every call once, before it or after it in turn; two rounds take both moments of each.
  rounds: { test: 1, soak: 2 },
  run: runDeaths,
}

const child = join(import.meta.dirname, 'dying-backup.ts')
const moments = ['kill-before', 'kill-after'] as const

async function runDeaths(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const count = new Count('unreadable', 'changed', 'lost', 'duplicated', 'wrong', 'survived')
  const subject = await prepareSubject(lab, { topic: 'deaths', partitions: 2, records: 6000, valueBytes: 1000 })
  const counted = await runChild(await copyBase(lab, subject), 0, 'kill-before')
  const calls = Number(counted.stdout)
  if (!(calls > 15)) throw new Error(`the run makes ${calls} calls: ${counted.stderr}`)
  count.saw('calls of a run', calls)
  for (let round = 0; round < rounds; round++) {
    for (let nth = 1; nth <= calls; nth++) {
      const place = await copyBase(lab, subject)
      const before = await snapshot(place)
      const { signal, stdout } = await runChild(place, nth, moments[(nth + round + seed) % 2] ?? 'kill-before')
      if (signal === 'SIGKILL') count.injected++
      // A slow run commits once more on the way; a faster one has fewer calls than were counted.
      else if (Number(stdout) > 0 && Number(stdout) < nth) count.saw('ended before that call')
      else count.add({ survived: 1 })
      count.add(await examine(place, before))
      await backUp(place.spec)
      count.add({ ...(await compare(place, subject)) })
      await emptyStore(place)
    }
  }
  return count.outcome
}

function runChild({ spec }: Place, nth: number, moment: (typeof moments)[number]): Promise<Ended> {
  return startProcess(process.execPath, [child, JSON.stringify({ spec, nth, moment })]).ended
}
