import { hasCode, KafkaBackupError, toKafkaBackupError } from '../../src/errors.ts'
import { defaultStorageRetryPolicy } from '../../src/storage/open-storage.ts'
import { withRetries } from '../../src/storage/retrying.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { createRandom, type Fault as StoreFault, withFaults } from '../fakes/faulty-storage.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import { type Lab, openPlace } from './lab.ts'
import {
  compareTarget,
  dropTarget,
  makeTarget,
  type RestoreSubject,
  restoreInProcess,
  restoreSubject,
  type Target,
} from './restore-lab.ts'
import { passingError } from './store-errors.ts'

const never = new AbortController().signal

export const restoreReadsFail: Fault = {
  name: 'a third of the reads of a restore fail',
  inject: 'every call to the store fails with a chance of 30 %, below the retries of the program',
  promise: 'a run succeeds and is exact, or fails with a documented error, and the next run continues',
  rounds: { test: 20, soak: 300 },
  run: failReads,
}

export const restoreOfDamage: Fault = {
  name: 'a restore reads a damaged object',
  inject: 'one random bit of a random index or segment is flipped, or the object is removed; then it is restored',
  promise: 'the restore exits with 3 and names the object; with the object back the same command completes it exactly',
  rounds: { test: 3, soak: 30 },
  run: readDamage,
}

async function failReads(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const count = new Count('lost', 'duplicated', 'wrong', 'other settings', 'unclassified')
  const subject = await restoreSubject(lab)
  for (let round = 0; count.injected < rounds; round++) {
    const target = await makeTarget(lab, subject)
    for (let run = 0; !(await runDisturbed(target, seed + 100 * round + run, count)); run++);
    await finish(lab, subject, target, count)
  }
  return count.outcome
}

/** Whether it succeeded. */
async function runDisturbed(target: Target, seed: number, count: Count): Promise<boolean> {
  const random = createRandom(seed)
  const error = () => {
    count.injected++
    return passingError(random)
  }
  const failing: StoreFault = { probability: 0.3, effect: { kind: 'throw-before', error } }
  const parts = { clock: new JumpingClock(), random }
  const decorateStorage = (storage: Storage) =>
    withRetries(withFaults(storage, [failing], { seed }), defaultStorageRetryPolicy, parts)
  try {
    await restoreInProcess(target, { decorateStorage })
    count.saw('successful runs')
    return true
  } catch (error) {
    count.saw('failed runs')
    if (!(error instanceof KafkaBackupError) || hasCode(error, 'INTERNAL')) count.add({ unclassified: 1 })
    return false
  }
}

async function readDamage(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const random = createRandom(seed)
  const count = new Count('lost', 'duplicated', 'wrong', 'other settings', 'missed', 'not named')
  const subject = await restoreSubject(lab)
  const objects = await listObjects(subject)
  while (count.injected < rounds) {
    const target = await makeTarget(lab, subject)
    const { key, size } = objects[Math.floor(random() * objects.length)] ?? { key: '', size: 0 }
    const isGone = random() < 0.2
    const bit = Math.floor(random() * size * 8)
    const decorateStorage = (storage: Storage) => (isGone ? without(storage, key) : flipped(storage, key, bit))
    const error = await restoreInProcess(target, { decorateStorage }).then(() => undefined, toKafkaBackupError)
    count.injected++
    count.saw(`${key.includes('index') ? 'index' : 'segment'} ${isGone ? 'gone' : 'damaged'}`)
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) count.add({ missed: 1 })
    else if (!error.message.includes(key)) count.add({ 'not named': 1 })
    await restoreInProcess(target)
    await finish(lab, subject, target, count)
  }
  return count.outcome
}

async function finish(lab: Lab, subject: RestoreSubject, target: Target, count: Count): Promise<void> {
  count.add(await compareTarget(lab, subject, target))
  await dropTarget(lab, target)
}

/** Segments, and the newest index of each partition: a restore reads no other. */
async function listObjects({ place }: RestoreSubject): Promise<{ key: string; size: number }[]> {
  const objects = new Map<string, { key: string; size: number }>()
  for await (const { key, size } of openPlace(place).list('b1/kafka/', never)) {
    const name = key.replace(/index-\d+.*/, 'index')
    if (key >= (objects.get(name)?.key ?? '')) objects.set(name, { key, size })
  }
  return [...objects.values()]
}

function without(storage: Storage, key: string): Storage {
  const gone = async (): Promise<never> => {
    throw new KafkaBackupError('STORAGE_NOT_FOUND', `${key} is not there (scripted fault)`)
  }
  return {
    ...storage,
    read: (one, signal) => (one === key ? gone() : storage.read(one, signal)),
    readRange: (one, start, length, signal) => (one === key ? gone() : storage.readRange(one, start, length, signal)),
  }
}

/** The object as a disk gives it back that has changed one bit. */
function flipped(storage: Storage, key: string, bit: number): Storage {
  const flip = (bytes: Buffer, start: number): Buffer => {
    const at = Math.floor(bit / 8) - start
    const copy = Buffer.from(bytes)
    if (at >= 0 && at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << (bit % 8))
    return copy
  }
  return {
    ...storage,
    read: async (one, signal) => {
      const bytes = await storage.read(one, signal)
      return one === key ? flip(bytes, 0) : bytes
    },
    readRange: async (one, start, length, signal) => {
      const bytes = await storage.readRange(one, start, length, signal)
      return one === key ? flip(bytes, start) : bytes
    },
  }
}
