import { join } from 'node:path'
import { brokerArchiveFlags } from './kafka.ts'
import { kafkaLibs, logFlags, quickStartFlags, steadyFlags } from './kafka-dist.ts'
import { type CommandOptions, type CommandResult, runCommand } from './run-command.ts'

/** Main classes of Kafka's command line tools; the same in 3.9 and 4.1. */
export const kafkaToolClasses = {
  dumpLogSegments: 'kafka.tools.DumpLogSegments',
  producerPerformance: 'org.apache.kafka.tools.ProducerPerformance',
  consumerPerformance: 'org.apache.kafka.tools.ConsumerPerformance',
} as const

export interface KafkaToolOptions extends CommandOptions {
  heapMb?: number
  /** `steady` for a measurement, see `startKafka`. */
  jvm?: 'quick' | 'steady'
}

/** Runs one of Kafka's own command line tools to its end. `from` is a server, or a version. */
export async function runKafkaTool(
  from: { libs: string; version: string } | string,
  mainClass: string,
  args: readonly string[],
  options: KafkaToolOptions = {},
): Promise<CommandResult> {
  const [libs, version] = typeof from === 'string' ? [await kafkaLibs(from), from] : [from.libs, from.version]
  // A tool shares most of its classes with the broker.
  const quick = async () => [...quickStartFlags, ...(await brokerArchiveFlags(version))]
  const jvm = (options.jvm ?? 'quick') === 'quick' ? await quick() : steadyFlags
  const flags = [...jvm, `-Xmx${options.heapMb ?? 512}m`, ...logFlags, '-cp', join(libs, '*')]
  return runCommand('java', [...flags, mainClass, ...args], options)
}
