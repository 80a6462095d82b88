import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openStoragePlace } from '../../src/jobs/parts.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { backUp, type JobSpec, jobText, makeJob } from '../e2e/backup-job.ts'
import type { KafkaDriver } from '../servers/driver.ts'
import type { KafkaServer } from '../servers/kafka.ts'

/** What the experiments need. Another store or another listener is a lab with other texts. */
export interface Lab {
  server: KafkaServer
  driver: KafkaDriver
  /** For job files and for stores in folders. */
  folder: string
  /** The servers of the job and the rest of its `source:`. */
  servers: readonly string[]
  source: Record<string, unknown>
  /** Of the records of large topics: 1 is all of them. */
  share: number
  /** The job's `storage:` at a place where nothing is yet. */
  storageAt(name: string): Record<string, unknown>
}

/** A backup of its own: a job file, and where it leads. */
export interface Place {
  spec: JobSpec
  config: string
}

/** A topic of two halves. The first is in the backup `base` already, and most experiments go on from there. */
export interface Subject {
  /** Whose store has the backup. */
  lab: Lab
  topic: string
  records: number
  base: Place
  /** `hashChain` of each partition, as the official client reads it. */
  chains: string[]
}

interface SubjectShape {
  partitions: number
  records: number
  valueBytes: number
}

const never = new AbortController().signal
/** Topics of at least so many records are large: they are there to make a run last. */
const LARGE_RECORDS = 20_000
let places = 0

/** Small segments, so that there are many calls to the store and many moments between them. */
export const manyCalls = { segment_bytes: '1MiB', commit_interval: '1s', memory_budget: '32MiB', lease_duration: '5s' }

const subjects = new WeakMap<KafkaServer, Map<string, Promise<Subject>>>()

/** Experiments only read a topic, so those that ask for the same one share it, also between labs of one Kafka. */
export async function prepareSubject(lab: Lab, shape: SubjectShape): Promise<Subject> {
  const topic = `of-${shape.partitions}x${shape.records}x${shape.valueBytes}`
  const known = subjects.get(lab.server) ?? new Map<string, Promise<Subject>>()
  subjects.set(lab.server, known)
  const making = known.get(topic) ?? makeSubject(lab, topic, shape)
  known.set(topic, making)
  const subject = await making
  return subject.lab === lab ? subject : { ...subject, lab, base: await copyBase(lab, subject) }
}

/** The first half is stored as the producer compressed it, the second is compressed on the way. */
async function makeSubject(lab: Lab, topic: string, shape: SubjectShape): Promise<Subject> {
  const { partitions, valueBytes } = shape
  const records = shape.records < LARGE_RECORDS ? shape.records : shape.records * lab.share
  await lab.driver.createTopic(topic, { partitions })
  // A machine that is busy with faults may let a producer wait.
  const config = { 'delivery.timeout.ms': '300000' }
  const half = { count: records / 2, partitions, valueBytes, config }
  await lab.driver.seedBulk(topic, { ...half, seed: 1, compression: 'lz4' })
  const base = await makePlace(lab, topic)
  await backUp(base.spec)
  await lab.driver.seedBulk(topic, { ...half, seed: 2 })
  const digests = await lab.driver.digest(topic, { isolation: 'read_committed' })
  return { lab, topic, records, base, chains: digests.map(({ sha256 }) => sha256) }
}

/** A place where nothing is, for the same job. */
export async function makePlace(lab: Lab, topic: string): Promise<Place> {
  const name = `${topic}-${++places}`
  const spec: JobSpec = {
    servers: lab.servers,
    source: lab.source,
    storage: lab.storageAt(name),
    include: [topic],
    backup: manyCalls,
  }
  return writeJob(lab, name, spec)
}

export async function writeJob(lab: Lab, name: string, spec: JobSpec): Promise<Place> {
  const config = join(lab.folder, 'jobs', `${name}.yaml`)
  await mkdir(join(lab.folder, 'jobs'), { recursive: true })
  await writeFile(config, jobText(spec))
  return { spec, config }
}

/** A place with a copy of the backup of the first half. */
export async function copyBase(lab: Lab, subject: Subject): Promise<Place> {
  const place = await makePlace(lab, subject.topic)
  await copyStore(openPlace(subject.base), openPlace(place))
  return place
}

export function openPlace(place: Place): Storage {
  return openStoragePlace(makeJob(place.spec))
}

async function copyStore(from: Storage, to: Storage): Promise<void> {
  const copying: Promise<void>[] = []
  for await (const { key } of from.list('', never)) {
    copying.push(from.read(key, never).then(body => to.replace(key, body, never)))
  }
  if (copying.length === 0) throw new Error(`${from.location} has nothing to copy`)
  await Promise.all(copying)
}

export async function emptyStore(place: Place): Promise<void> {
  const storage = openPlace(place)
  const keys: string[] = []
  for await (const { key } of storage.list('', never)) keys.push(key)
  await Promise.all(keys.map(key => storage.remove(key, never)))
}
