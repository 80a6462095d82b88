import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import { defaultStorageRetryPolicy } from '../../src/storage/open-storage.ts'
import { withRetries } from '../../src/storage/retrying.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { backUp } from '../e2e/backup-job.ts'
import { createRandom, type Fault as StoreFault, withFaults } from '../fakes/faulty-storage.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { compare, examine, snapshot } from './examine.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import { copyBase, emptyStore, type Lab, openPlace, type Place, prepareSubject, type Subject } from './lab.ts'

const never = new AbortController().signal
const names = ['unreadable', 'changed', 'lost', 'duplicated', 'wrong', 'partial success', 'unclassified'] as const

export const errorsOnATenth: Fault = {
  name: 'a tenth of the calls to the store fail',
  inject: 'every call to the store fails with a chance of 10 %, half of them after they took effect',
  promise: 'a run succeeds and is exact, or fails with a documented error; what is committed verifies',
  rounds: { test: 8, soak: 1000 },
  run: (lab, options) =>
    disturbStore(lab, options, [
      { probability: 0.05, effect: { kind: 'throw-before', error: passingError } },
      { probability: 0.05, effect: { kind: 'throw-after', error: passingError } },
    ]),
}

export const repliesLost: Fault = {
  name: 'the reply to a stored object is lost',
  inject: 'half of all objects are stored but the call fails',
  promise: 'each object exists once with its bytes; nothing is left over; the result is exact',
  rounds: { test: 10, soak: 400 },
  run: (lab, options) =>
    disturbStore(lab, options, [
      { on: ['create', 'commit', 'replace'], probability: 0.5, effect: { kind: 'throw-after', error: passingError } },
    ]),
}

/**
 * Runs with a store that fails below the program's own retries, as a real one does. A round is a call that was made to
 * fail. Delays between tries pass at once.
 */
async function disturbStore(lab: Lab, { rounds, seed }: FaultOptions, faults: readonly StoreFault[]): Promise<Outcome> {
  const count = new Count(...names, 'left over')
  const subject = await prepareSubject(lab, { partitions: 4, records: 4000, valueBytes: 1000 })
  let place = await copyBase(lab, subject)
  let failures = 0
  for (let round = 0; count.injected < rounds; round++) {
    const before = await snapshot(place)
    const failed = await runDisturbed(place, seed + round, faults, count)
    count.add(await examine(place, before))
    count.saw(failed ? 'failed runs' : 'successful runs')
    if (failed) failures++
    if (failed) continue
    const difference = await compare(place, subject)
    count.add({ ...difference, 'partial success': difference.lost > 0 ? 1 : 0 })
    // A run that failed may leave objects that nothing names.
    if (failures === 0) count.add({ 'left over': await countLeftOver(place, subject) })
    failures = 0
    await emptyStore(place)
    place = await copyBase(lab, subject)
  }
  return count.outcome
}

async function runDisturbed(
  { spec }: Place,
  seed: number,
  faults: readonly StoreFault[],
  count: Count,
): Promise<boolean> {
  const clock = new JumpingClock()
  const counting = faults.map(fault => countStrikes(fault, seed, count))
  let calls: readonly unknown[] = []
  const decorateStorage = (storage: Storage) => {
    const faulty = withFaults(storage, counting, { seed })
    calls = faulty.calls
    return withRetries(faulty, defaultStorageRetryPolicy, { clock, random: createRandom(seed) })
  }
  try {
    await backUp(spec, { decorateStorage })
    return false
  } catch (error) {
    if (!(error instanceof KafkaBackupError) || hasCode(error, 'INTERNAL')) count.add({ unclassified: 1 })
    return true
  } finally {
    count.saw('calls', calls.length)
  }
}

function countStrikes(fault: StoreFault, seed: number, count: Count): StoreFault {
  const random = createRandom(seed)
  const error = () => {
    count.injected++
    return passingError(random)
  }
  return { ...fault, effect: { kind: fault.effect.kind === 'throw-after' ? 'throw-after' : 'throw-before', error } }
}

/** What stores say when they are busy, restarting or cut off. */
export function passingError(random: () => number = Math.random): KafkaBackupError {
  const kinds = ['500 Internal Error', '503 Slow Down', '429 Too Many Requests', 'connection reset', 'timed out']
  const kind = kinds[Math.floor(random() * kinds.length)]
  return new KafkaBackupError('STORAGE_UNAVAILABLE', `the store answered: ${kind} (scripted fault)`)
}

/** Objects that no generation names, after runs that all succeeded. */
async function countLeftOver(place: Place, { topic }: Subject): Promise<number> {
  const storage = openPlace(place)
  const keys: string[] = []
  let text = ''
  for await (const { key } of storage.list('b1/', never)) {
    if (key.endsWith('.json')) text += (await storage.read(key, never)).toString('utf8')
    if (key.startsWith(`b1/kafka/${topic}/`)) keys.push(key)
  }
  return keys.filter(key => !text.includes(`"${key}"`)).length
}
