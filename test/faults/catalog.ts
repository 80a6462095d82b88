import { brokerKilled } from './bounces.ts'
import { bitFlips, tornObjects, wrongObjects } from './damage.ts'
import { deathAtEveryCall } from './death-at-calls.ts'
import type { Fault } from './fault.ts'
import { killedAtRandom, stoppedAtRandom } from './kills.ts'
import { powerCut } from './power-cut.ts'
import { refusingDisk } from './refusing-disk.ts'
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
  brokerKilled,
]
