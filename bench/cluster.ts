import { type KafkaDriver, openDriver } from '../test/servers/driver.ts'
import { type KafkaServer, startKafka } from '../test/servers/kafka.ts'
import { mustRun } from '../test/servers/run-command.ts'
import { systemProgram } from '../test/servers/system-program.ts'
import { writePayloadFile } from './payload.ts'
import { runPerfTool } from './perf-tool.ts'
import type { BenchPart } from './report.ts'

export interface BenchTopic {
  name: string
  records: number
  props: Record<string, string>
  parts: readonly BenchPart[]
}

export const RECORDS = 1_500_000
/** Of the tool that fills the topics, and of the same tool where a restore is measured against it. */
export const BATCHED = { 'linger.ms': '20', 'batch.size': '131072' }
const WITH_KAFKA = ['backup', 'restore', 'far', 'schemas'] as const
export const topics: BenchTopic[] = [
  { name: 'zstd', records: RECORDS, props: { ...BATCHED, 'compression.type': 'zstd' }, parts: WITH_KAFKA },
  // Large enough that the start of the programs is little of what a search takes.
  { name: 'zstd-x4', records: 4 * RECORDS, props: { ...BATCHED, 'compression.type': 'zstd' }, parts: ['search'] },
  { name: 'plain', records: RECORDS, props: BATCHED, parts: ['backup', 'restore', 'far', 'schemas'] },
  { name: 'plain-x4', records: 4 * RECORDS, props: BATCHED, parts: ['backup', 'restore'] },
  {
    name: 'one-record-batches',
    records: RECORDS / 5,
    props: { 'batch.size': '0', 'linger.ms': '0' },
    parts: ['restore'],
  },
]
export const SMALL_PARTITIONS = 2000

/** A broker as one runs it, with the topics that these parts of the benchmark need, made by Kafka's own producer. */
export async function startBenchCluster(
  payload: string,
  parts: readonly BenchPart[],
  say: (text: string) => void,
): Promise<KafkaServer> {
  const server = await startKafka({ jvm: 'steady', heapMb: 1024 })
  const { bytes } = await writePayloadFile(payload, 50_000)
  say(`payload: JSON lines of ${Math.round(bytes / 50_000)} bytes on average`)
  await using driver = await openDriver(server)
  // First, while the disk is quiet: opening so many files takes the broker a while.
  if (parts.includes('backup')) await fillSmall(driver, say)
  for (const { name, records, props } of topics.filter(topic => topic.parts.some(part => parts.includes(part)))) {
    say(`producing ${records.toLocaleString('en')} records to ${name} with kafka-producer-perf-test`)
    await driver.createTopic(name, { partitions: 4 })
    await runPerfTool(server, { topic: name, records, payload, props })
  }
  return server
}

async function fillSmall(driver: KafkaDriver, say: (text: string) => void): Promise<void> {
  say(`producing 10 records to each of ${SMALL_PARTITIONS} partitions`)
  await driver.createTopic('small', { partitions: SMALL_PARTITIONS, configs: { 'segment.index.bytes': '1024' } })
  await driver.seedBulk('small', {
    count: 10 * SMALL_PARTITIONS,
    partitions: SMALL_PARTITIONS,
    valueBytes: 200,
    batchSize: 4000,
    config: { 'enable.idempotence': 'false', 'linger.ms': '200', 'delivery.timeout.ms': '300000' },
  })
}

/** The version of kcat, which is what people use otherwise. */
export async function requireKcat(): Promise<string> {
  const output = await mustRun(await systemProgram('kcat', 'kcat'), ['-V'])
  const version = /Version (\S+)/.exec(output)?.[1]
  if (version === undefined) throw new Error(`kcat -V does not print its version: ${output}`)
  return version
}
