import type { KafkaServer } from '../test/servers/kafka.ts'
import { kafkaToolClasses, runKafkaTool } from '../test/servers/kafka-tools.ts'

export interface PerfRun {
  topic: string
  records: number
  /** A line each. */
  payload: string
  /** The producer's own settings; without any it has its defaults. */
  props?: Record<string, string>
  /** Records a second; as fast as it can where it is not given. */
  rate?: number
}

/** Kafka's own producer performance tool. The rate is what it says of itself, from its first record to its last. */
export async function runPerfTool(
  server: KafkaServer,
  { topic, records, payload, props = {}, rate = -1 }: PerfRun,
): Promise<{ recordsPerSecond: number }> {
  const all = { 'bootstrap.servers': server.bootstrapServers.join(), ...props }
  const settings = Object.entries(all).map(([name, value]) => `${name}=${value}`)
  const amount = ['--num-records', String(records), '--throughput', String(rate)]
  const args = ['--topic', topic, ...amount, '--payload-file', payload, '--producer-props', ...settings]
  const tool = kafkaToolClasses.producerPerformance
  const { exitCode, stdout, stderr } = await runKafkaTool(server, tool, args, { jvm: 'steady' })
  const reported = /records sent, ([\d.]+) records\/sec .* 99\.9th/.exec(stdout)?.[1]
  if (exitCode !== 0 || reported === undefined) throw new Error(`the producer failed: ${stderr}${stdout}`)
  return { recordsPerSecond: Number(reported) }
}
