/**
 * Pure. Which settings a topic has while it is filled, and which it gets at the end. Some would damage the replay: the
 * broker would stamp its own time, compact or delete old records while others are still written, refuse old times, or
 * recompress every batch.
 */
export interface TopicSettings {
  whileFilling: Record<string, string>
  /** Null takes the setting off. */
  afterwards: Record<string, string | null>
}

/** What stands for a setting while the topic is filled. */
const heldBack: Record<string, string> = {
  'message.timestamp.type': 'CreateTime',
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
  'local.retention.ms': '-2',
  'local.retention.bytes': '-2',
  'compression.type': 'producer',
  'message.timestamp.before.max.ms': '9223372036854775807',
  'message.timestamp.after.max.ms': '9223372036854775807',
  'message.timestamp.difference.max.ms': '9223372036854775807',
}

/** Whatever the brokers' defaults are, these hold while the topic is filled. */
const always = ['message.timestamp.type', 'cleanup.policy', 'retention.ms', 'retention.bytes', 'compression.type']

/** Not every version has these, and Kafka 4 by itself refuses times an hour ahead: they are held where the target has them. */
const timeLimits = [
  'message.timestamp.before.max.ms',
  'message.timestamp.after.max.ms',
  'message.timestamp.difference.max.ms',
]

/** They speak of brokers of the source. */
const ofTheCluster = new Set(['leader.replication.throttled.replicas', 'follower.replication.throttled.replicas'])

export function planSettings(
  source: Readonly<Record<string, string>>,
  overrides: ReadonlyMap<string, string>,
  retention: 'fail' | 'hold' | 'apply',
): TopicSettings {
  const kept = Object.entries(source).filter(([name, value]) => !isOldFormatSetting(name, value))
  const wanted = Object.entries({ ...Object.fromEntries(kept), ...Object.fromEntries(overrides) }).filter(
    ([name]) => !ofTheCluster.has(name),
  )
  const whileFilling: Record<string, string> = Object.fromEntries(always.map(name => [name, heldBack[name] ?? '']))
  const afterwards: Record<string, string | null> = Object.fromEntries(always.map(name => [name, null]))
  for (const [name, value] of wanted) {
    const held = heldBack[name]
    whileFilling[name] = held ?? value
    if (held !== undefined) afterwards[name] = value
  }
  if (retention === 'hold') {
    for (const name of ['retention.ms', 'retention.bytes']) delete afterwards[name]
  }
  return { whileFilling, afterwards }
}

/** The limits on times that the target has, opened wide. A broker calls a topic's setting the same, with `log.` before it. */
export function openTimeLimits(brokerSettings: Iterable<string>): Record<string, string> {
  const known = new Set(brokerSettings)
  return Object.fromEntries(
    timeLimits.filter(name => known.has(`log.${name}`)).map(name => [name, heldBack[name] ?? '']),
  )
}

/** Whether these settings on a topic itself are those of a topic that a restore has made and is filling. */
export function isHeldBack(own: Readonly<Record<string, string>>): boolean {
  return always.every(name => own[name] === heldBack[name])
}

/** The settings to apply after the restore; settings that were changed meanwhile are kept. */
export function releaseSettings(
  own: Readonly<Record<string, string>>,
  afterwards: TopicSettings['afterwards'],
): TopicSettings['afterwards'] {
  const opened = Object.fromEntries(timeLimits.map(name => [name, null]))
  return Object.fromEntries(
    Object.entries({ ...opened, ...afterwards }).filter(([name]) => own[name] === heldBack[name]),
  )
}

export const FORMAT_SETTING = 'message.format.version'

/** Formats v0 and v1: a broker that holds a topic in one of them refuses the batches of a restore. */
export function isOldFormatSetting(name: string, value: string): boolean {
  return name === FORMAT_SETTING && /^0\.(8|9|10)(\.|-|$)/.test(value)
}

/** Pure. One warning for each topic whose setting of an old format is left out. */
export function formatWarnings(
  topics: readonly { name: string; configs: Readonly<Record<string, string>> }[],
): string[] {
  return topics.flatMap(({ name, configs }) => {
    const value = configs[FORMAT_SETTING]
    if (value === undefined || !isOldFormatSetting(FORMAT_SETTING, value)) return []
    return [`topic ${name}: its setting ${FORMAT_SETTING}: ${value} is left out; a restore writes message format v2`]
  })
}
