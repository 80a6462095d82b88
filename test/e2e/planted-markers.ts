import { randomBytes } from 'node:crypto'
import type { StorageOptions } from '../../src/storage/location.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { KafkaDriver, SeedRecord } from '../servers/driver.ts'
import { register } from './schema-world.ts'

const never = new AbortController().signal
const TOPICS = 10
const RECORDS = 2_450
const SUBJECTS = 90
const GROUPS = 12

/** Texts that stand nowhere else, by where they were put. */
export interface Planted {
  records: Set<string>
  schemas: Set<string>
  groups: Set<string>
  /** Names of topics and of subjects. */
  topics: Set<string>
  subjects: Set<string>
}

const form = /mkr-[0-9a-f]{16}/g
const newMarker = () => `mkr-${randomBytes(8).toString('hex')}`

export function allOf(planted: Planted): Set<string> {
  return new Set(Object.values(planted).flatMap((markers: Set<string>) => [...markers]))
}

/** Puts more than ten thousand of them into keys, values, headers, schemas, and the names of all that has one. */
export async function plantMarkers(driver: KafkaDriver, registryUrl: string): Promise<Planted> {
  const make = (count: number) => new Set(Array.from({ length: count }, newMarker))
  const planted: Planted = {
    records: new Set(),
    schemas: make(SUBJECTS),
    groups: make(GROUPS),
    topics: make(TOPICS),
    subjects: make(SUBJECTS),
  }
  for (const topic of planted.topics) {
    await driver.createTopic(topic, { partitions: 2, configs: { 'retention.ms': '-1' } })
    await driver.produce(
      topic,
      Array.from({ length: RECORDS / TOPICS }, (_, at) => recordOf(at, planted.records)),
    )
  }
  const [topic = ''] = planted.topics
  for (const group of planted.groups) await driver.readGroup({ group, topics: [topic], take: 3, metadata: group })
  const texts = [...planted.schemas]
  for (const [at, subject] of [...planted.subjects].entries()) {
    const schema = JSON.stringify({ type: 'record', name: 'R', doc: texts[at], fields: [{ name: 'n', type: 'long' }] })
    await register(registryUrl, { subject, type: 'AVRO', schema })
  }
  return planted
}

function recordOf(at: number, markers: Set<string>): SeedRecord {
  const plant = () => {
    const marker = newMarker()
    markers.add(marker)
    return marker
  }
  return {
    partition: at % 2,
    key: Buffer.from(plant()),
    value: Buffer.from(`a value with ${plant()} in it`),
    headers: [[plant(), Buffer.from(plant())]],
    timestamp: 1_760_000_000_000 + at,
  }
}

/** Every marker that the bytes or the keys of the objects at a store hold. */
export async function findMarkers(options: StorageOptions, markers: ReadonlySet<string>): Promise<Set<string>> {
  const storage = openStorage(options)
  const found = new Set<string>()
  const look = (text: string) => {
    for (const [marker] of text.matchAll(form)) if (markers.has(marker)) found.add(marker)
  }
  try {
    for await (const { key } of storage.list('', never)) {
      look(key)
      look((await storage.read(key, never)).toString('latin1'))
    }
    return found
  } finally {
    await storage.close()
  }
}
