import type { ManifestTopic } from './manifest.ts'

/**
 * Settings that decide which records a topic keeps and takes, each with Kafka's own default. A backup stores the values
 * in force: most topics inherit them from their brokers, and `configs` has only what is set on the topic itself.
 */
export const decisiveDefaults: Readonly<Record<string, string>> = {
  'cleanup.policy': 'delete',
  'retention.ms': '604800000',
  'retention.bytes': '-1',
  'delete.retention.ms': '86400000',
  'min.compaction.lag.ms': '0',
  'max.compaction.lag.ms': '9223372036854775807',
  'min.cleanable.dirty.ratio': '0.5',
  'message.timestamp.type': 'CreateTime',
  'max.message.bytes': '1048588',
  'segment.ms': '604800000',
  'segment.bytes': '1073741824',
}

type Settings = Pick<ManifestTopic, 'configs' | 'effective_configs'>

/** Pure. The values in force of the settings above; what a broker does not report is left out. */
export function decisiveOf(
  inForce: Iterable<readonly [name: string, { value: string | null }]>,
): NonNullable<ManifestTopic['effective_configs']> {
  const known = new Map(inForce)
  const values = Object.keys(decisiveDefaults).map(name => [name, known.get(name)?.value ?? null] as const)
  return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== null))
}

/** Pure. The value in force at the source; undefined where the backup does not know it. */
export function effectiveSetting({ configs, effective_configs }: Settings, name: string): string | undefined {
  return effective_configs?.[name] ?? configs[name]
}

/** Pure. Whether compaction removes records of the topic; undefined where the backup does not know it. */
export function isCompacted(topic: Settings): boolean | undefined {
  return policiesOf(topic)?.includes('compact')
}

/** Pure. Whether age or size expire records of the topic; undefined where the backup does not know it. */
export function expiresRecords(topic: Settings): boolean | undefined {
  const policies = policiesOf(topic)
  if (!policies?.includes('delete')) return policies && false
  const limits = ['retention.ms', 'retention.bytes'].map(name => effectiveSetting(topic, name))
  if (limits.some(limit => limit !== undefined && !limit.startsWith('-'))) return true
  return limits.includes(undefined) ? undefined : false
}

function policiesOf(topic: Settings): string[] | undefined {
  return effectiveSetting(topic, 'cleanup.policy')
    ?.split(',')
    .map(policy => policy.trim())
}
