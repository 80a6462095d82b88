import { verifyBackup } from '../../src/archive/verify.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { backUp } from '../e2e/backup-job.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import { copyBase, type Lab, openPlace, prepareSubject } from './lab.ts'

const never = new AbortController().signal

export const bitFlips: Fault = {
  name: 'a bit is flipped',
  inject: 'one random bit in a random object: manifest, index, plain segment, compressed segment, manifest.json',
  promise: 'verify or verify --deep detects it',
  rounds: { test: 200, soak: 10_000 },
  run: (lab, options) => damage(lab, options, flipBits),
}

export const tornObjects: Fault = {
  name: 'an object is truncated',
  inject: 'each kind of object truncated at 64 points',
  promise: 'verify detects it without --deep',
  rounds: { test: 64, soak: 64 },
  run: (lab, options) => damage(lab, options, cutOff),
}

export const wrongObjects: Fault = {
  name: 'an object is missing or replaced',
  inject: 'every object deleted, emptied, and replaced by every other object of the backup, older versions among them',
  promise: 'verify or verify --deep detects it',
  rounds: { test: 1, soak: 1 },
  run: (lab, options) => damage(lab, options, misplace),
}

type Objects = ReadonlyMap<string, Buffer>
interface Damage {
  key: string
  /** undefined where the object is gone. */
  body: Buffer | undefined
}
type Maker = (objects: Objects, options: FaultOptions, others: Objects) => Iterable<Damage>

/** Damages a small backup of two generations in memory, one thing at a time. */
async function damage(lab: Lab, options: FaultOptions, make: Maker): Promise<Outcome> {
  const subject = await prepareSubject(lab, { partitions: 2, records: 400, valueBytes: 100 })
  const place = await copyBase(lab, subject)
  await backUp(place.spec)
  const memory = openMemoryStorage()
  const storage = openPlace(place)
  for await (const { key } of storage.list('', never)) memory.objects.set(key, await storage.read(key, never))
  const named = await readableKeys(memory)
  const watched = new Map([...memory.objects].filter(([key]) => named.has(key)))
  const count = new Count('missed', 'unclassified')
  for (const { key, body } of make(watched, options, new Map(memory.objects))) {
    const original = memory.objects.get(key)
    if (original === undefined || body?.equals(original)) continue
    if (body === undefined) memory.objects.delete(key)
    else memory.objects.set(key, body)
    count.injected++
    tally(count, kindOf(key), await detect(memory))
    memory.objects.set(key, original)
  }
  return count.outcome
}

/** What the newest generation consists of: all that a verification of it reads, and `manifest.json`. */
async function readableKeys(memory: MemoryStorage): Promise<Set<string>> {
  const read = new Set<string>(['b1/manifest.json'])
  const reading: MemoryStorage = {
    ...memory,
    read: (key, signal) => memory.read(read.add(key) && key, signal),
    readRange: (key, ...rest) => memory.readRange(read.add(key) && key, ...rest),
  }
  await verifyBackup(reading, 'b1', { deep: true, onProgress: () => undefined }, never)
  return read
}

type Finding = 'verify' | 'verify --deep' | 'a warning' | 'nothing' | 'unclassified'

async function detect(memory: MemoryStorage): Promise<Finding> {
  let warned = false
  for (const deep of [false, true]) {
    const way = deep ? 'verify --deep' : 'verify'
    try {
      const report = await verifyBackup(memory, 'b1', { deep, onProgress: () => undefined }, never)
      if (!report.ok) return way
      warned ||= report.warnings.length > 0
    } catch (error) {
      return error instanceof KafkaBackupError && error.code !== 'INTERNAL' ? way : 'unclassified'
    }
  }
  return warned ? 'a warning' : 'nothing'
}

/** A warning suffices for `manifest.json`, which no reader uses. */
function tally(count: Count, kind: string, finding: Finding): void {
  count.saw(`${kind}: by ${finding}`)
  if (finding === 'unclassified') count.add({ unclassified: 1 })
  if (finding === 'nothing' || (finding === 'a warning' && kind !== 'manifest.json')) count.add({ missed: 1 })
}

function kindOf(key: string): string {
  if (key.endsWith('/manifest.json')) return 'manifest.json'
  if (key.includes('/manifests/')) return 'manifest'
  if (key.endsWith('.json')) return 'index'
  return key.endsWith('.zst') ? 'compressed segment' : 'plain segment'
}

/** Each kind gets the same number of flips, whatever its size. */
function* flipBits(objects: Objects, { rounds, seed }: FaultOptions): Generator<Damage> {
  const random = createRandom(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const kinds = [...Map.groupBy(objects, ([key]) => kindOf(key)).values()]
  for (let round = 0; round < rounds; round++) {
    const kind = kinds[round % kinds.length] ?? []
    const [key, original] = kind[below(kind.length)] ?? ['', Buffer.alloc(1)]
    const body = Buffer.from(original)
    const at = below(body.length)
    body[at] = (body[at] ?? 0) ^ (1 << below(8))
    yield { key, body }
  }
}

function* cutOff(objects: Objects, { rounds }: FaultOptions): Generator<Damage> {
  for (const [key, original] of new Map([...objects].map(entry => [kindOf(entry[0]), entry])).values()) {
    for (let point = 0; point < rounds; point++) {
      yield { key, body: original.subarray(0, Math.floor((point * original.length) / rounds)) }
    }
  }
}

function* misplace(objects: Objects, _: FaultOptions, others: Objects): Generator<Damage> {
  for (const key of objects.keys()) {
    yield { key, body: undefined }
    yield { key, body: Buffer.alloc(0) }
    for (const body of others.values()) yield { key, body }
  }
}
