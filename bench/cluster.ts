import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { openDriver } from '../test/servers/driver.ts'
import { type KafkaServer, startKafka } from '../test/servers/kafka.ts'
import { runKafkaTool } from '../test/servers/kafka-tools.ts'
import { writePayloadFile } from './payload.ts'

export interface BenchTopic {
  name: string
  compression: 'none' | 'zstd'
  records: number
}

export const RECORDS = 1_500_000
export const topics: BenchTopic[] = [
  { name: 'zstd', compression: 'zstd', records: RECORDS },
  { name: 'plain', compression: 'none', records: RECORDS },
  { name: 'plain-x4', compression: 'none', records: 4 * RECORDS },
]
export const SMALL_PARTITIONS = 2000

/** A broker as one runs it, with the topics of the benchmark made by Kafka's own producer. */
export async function startBenchCluster(folder: string, say: (text: string) => void): Promise<KafkaServer> {
  const server = await startKafka({ jvm: 'steady', heapMb: 1024 })
  const payload = join(folder, 'payload.json')
  const { bytes } = await writePayloadFile(payload, 50_000)
  say(`payload: JSON lines of ${Math.round(bytes / 50_000)} bytes on average`)
  await using driver = await openDriver(server)
  // First, while the disk is quiet: opening so many files takes the broker a while.
  say(`producing 10 records to each of ${SMALL_PARTITIONS} partitions`)
  await driver.createTopic('small', { partitions: SMALL_PARTITIONS, configs: { 'segment.index.bytes': '1024' } })
  await driver.seedBulk('small', {
    count: 10 * SMALL_PARTITIONS,
    partitions: SMALL_PARTITIONS,
    valueBytes: 200,
    batchSize: 4000,
    config: { 'enable.idempotence': 'false', 'linger.ms': '200', 'delivery.timeout.ms': '300000' },
  })
  for (const { name, compression, records } of topics) {
    say(`producing ${records.toLocaleString('en')} records to ${name} with kafka-producer-perf-test`)
    await driver.createTopic(name, { partitions: 4 })
    await produce(server, name, compression, records, payload)
  }
  return server
}

async function produce(server: KafkaServer, topic: string, compression: string, records: number, payload: string) {
  const props = [
    `bootstrap.servers=${server.bootstrapServers.join()}`,
    `compression.type=${compression}`,
    'linger.ms=20',
    'batch.size=131072',
  ]
  const args = ['--topic', topic, '--num-records', String(records), '--throughput', '-1', '--payload-file', payload]
  const tool = 'org.apache.kafka.tools.ProducerPerformance'
  const { exitCode, stderr } = await runKafkaTool(server, tool, [...args, '--producer-props', ...props])
  if (exitCode !== 0) throw new Error(`the producer failed: ${stderr}`)
}

/** kcat is what people reach for; Debian has it. */
export function requireKcat(): string {
  const version = () => /Version (\S+)/.exec(spawnSync('kcat', ['-V'], { encoding: 'utf8' }).stdout ?? '')?.[1]
  if (version() === undefined) {
    spawnSync('sh', ['-c', 'apt-get update -qq && apt-get install -y -qq kcat'], { stdio: 'inherit' })
  }
  const found = version()
  if (found === undefined) throw new Error('kcat is not installed and could not be: apt-get install kcat')
  return found
}
