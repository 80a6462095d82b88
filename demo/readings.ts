import { createHash } from 'node:crypto'
import type { KafkaDriver } from '../test/servers/driver.ts'
import { framedTopics, plainTopics } from './seed-shop.ts'
import { openStock } from './shop-schemas.ts'

/** What a consumer reads from a topic: the number of messages, a hash of their decoded content, and their schema IDs. */
export interface Reading {
  topic: string
  messages: number
  sha256: string
  ids: number[]
  /** One message, decoded. */
  sample: string
}

/** Reads with the official Java client, and decodes with a stock deserializer that uses the given registry. */
export async function readShop(driver: KafkaDriver, registry: string): Promise<Reading[]> {
  const readings: Reading[] = []
  for (const topic of framedTopics) readings.push(await readFramed(driver, registry, topic))
  for (const topic of plainTopics) readings.push(await readPlain(driver, topic))
  return readings
}

async function readFramed(driver: KafkaDriver, registry: string, topic: string): Promise<Reading> {
  const stock = openStock(registry)
  const hash = createHash('sha256')
  const ids = new Set<number>()
  let messages = 0
  let sample = ''
  const decode = async (bytes: Buffer | null): Promise<string> => {
    if (bytes === null) return 'null'
    if (bytes[0] !== 0) return bytes.toString()
    ids.add(bytes.readInt32BE(1))
    return JSON.stringify(await stock.decode(bytes))
  }
  for (const partition of await driver.consume(topic, { isolation: 'read_committed' })) {
    for (const { key, value, headers, timestamp } of partition) {
      const decoded = await decode(value)
      hash.update(`${await decode(key)} ${decoded} ${timestamp} ${headers.map(String).join()}\n`)
      if (value !== null) sample = decoded
      messages++
    }
  }
  return { topic, messages, sha256: hash.digest('hex'), ids: [...ids].sort((a, b) => a - b), sample }
}

async function readPlain(driver: KafkaDriver, topic: string): Promise<Reading> {
  const partitions = await driver.digest(topic, { isolation: 'read_committed' })
  const sha256 = createHash('sha256')
    .update(partitions.map(partition => partition.sha256).join())
    .digest('hex')
  const messages = partitions.reduce((sum, { count }) => sum + count, 0)
  return { topic, messages, sha256, ids: [], sample: 'no schema' }
}

/** A table of both. Throws where they differ, which fails the demo. */
export function formatSame(before: readonly Reading[], after: readonly Reading[]): string {
  const rows = before.map((one, at) => {
    const other = after[at]
    if (other?.topic !== one.topic || other.sha256 !== one.sha256 || other.messages !== one.messages)
      throw new Error(`topic ${one.topic} differs after the restore`)
    const hashes = [one.sha256.slice(0, 8), other.sha256.slice(0, 8)] as const
    return [one.topic, one.messages.toLocaleString('en-US'), ...hashes, formatIds(one), formatIds(other), other.sample]
  })
  return formatColumns([['TOPIC', 'MESSAGES', 'BEFORE', 'AFTER', 'OLD IDS', 'NEW IDS', 'A MESSAGE, DECODED'], ...rows])
}

/** The second column holds numbers. */
function formatColumns(cells: readonly (readonly string[])[]): string {
  const widths = cells[0]?.map((_, at) => Math.max(...cells.map(row => row[at]?.length ?? 0))) ?? []
  const line = (row: readonly string[]) =>
    row.map((cell, at) => (at === 1 ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))).join('  ')
  return cells.map(row => `  ${line(row)}`.trimEnd()).join('\n')
}

function formatIds({ ids }: Reading): string {
  return ids.length === 0 ? '-' : ids.join(', ')
}
