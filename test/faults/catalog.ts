import { brokerKilled } from './bounces.ts'
import { bitFlips, tornObjects, wrongObjects } from './damage.ts'
import { deathAtEveryCall } from './death-at-calls.ts'
import type { Fault } from './fault.ts'
import { killedAtRandom, stoppedAtRandom } from './kills.ts'
import { powerCut } from './power-cut.ts'
import { pruneBesideBackup, pruneDeaths } from './prune-faults.ts'
import { refusingDisk } from './refusing-disk.ts'
import { restoreBrokerKilled } from './restore-bounces.ts'
import { restoreKilled } from './restore-kills.ts'
import { foreignProducer, restoresAtOnce } from './restore-races.ts'
import {
  restoreAnswersLost,
  restoreKilledAtRequests,
  restoreLateAfterRestart,
  restoreLateRequests,
} from './restore-requests.ts'
import { restoreShardsKilled } from './restore-shards.ts'
import { restoreOfDamage, restoreReadsFail } from './restore-store.ts'
import { errorsOnATenth, repliesLost } from './store-errors.ts'
import { twoWriters, wakingWriter } from './two-writers.ts'

/** Everything that is done to a backup with one broker. */
export const faults: Fault[] = [
  killedAtRandom,
  deathAtEveryCall,
  stoppedAtRandom,
  errorsOnATenth,
  repliesLost,
  twoWriters,
  wakingWriter,
  refusingDisk,
  powerCut,
  bitFlips,
  tornObjects,
  wrongObjects,
  pruneDeaths,
  pruneBesideBackup,
  brokerKilled,
]

/** Everything that is done to a restore with one broker. */
export const restoreFaults: Fault[] = [
  restoreKilled,
  restoreKilledAtRequests,
  restoreAnswersLost,
  restoreLateRequests,
  restoreLateAfterRestart,
  restoresAtOnce,
  foreignProducer,
  restoreReadsFail,
  restoreOfDamage,
  restoreBrokerKilled,
]

/** The same; docs/reliability.md has no figures of these before the next soak measures them among the others. */
export const newRestoreFaults: Fault[] = [restoreShardsKilled]

/** What makes sense for a bucket as well, in fewer rounds: every call goes over the network there. */
export const bucketFaults: Fault[] = faults
  .filter(({ only }) => only !== 'filesystem')
  .filter(fault => fault !== brokerKilled && fault !== stoppedAtRandom)
  .map(fault => {
    const { test, soak } = fault.rounds
    // These take long with a bucket, and the order of the calls is the same.
    const isLong = fault === deathAtEveryCall || fault === wakingWriter || fault === killedAtRandom
    const rounds = { test: isLong ? 0 : Math.ceil(test / 4), soak: Math.ceil(soak / 4) }
    return { ...fault, name: `${fault.name} (S3)`, rounds }
  })

/**
 * The stores share all but the requests, so these are for what only a real store can show. A kill takes many runs of the
 * whole command to be found out; `make soak` has the time for it on S3.
 */
export function faultsOfStore(store: string): Fault[] {
  return [repliesLost, twoWriters].map(fault => ({
    ...fault,
    name: `${fault.name} (${store})`,
    rounds: { test: 1, soak: Math.ceil(fault.rounds.soak / 4) },
  }))
}
