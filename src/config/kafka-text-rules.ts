import { parseTime } from '../lib/point-in-time.ts'
import type { TextRule } from './leaf.ts'
import { topicPattern } from './text-leaves.ts'

/** One topic by its name; where several may be meant, `topicPattern` is the rule. */
export const topicName: TextRule = {
  type: 'text',
  allowed: 'a topic name: 1 to 249 of A-Z a-z 0-9 . _ -',
  pattern: '^[A-Za-z0-9._-]{1,249}$',
  wrong: text => {
    if (/[*?]/.test(text)) return 'is a pattern, but here each topic is named'
    if (text.length > 249) return `has ${text.length} characters`
    return /^[A-Za-z0-9._-]+$/.test(text) && text !== '.' && text !== '..' ? undefined : 'is not a topic name'
  },
}

export const partitionNumber: TextRule = {
  type: 'text',
  allowed: 'a partition number: 0 to 99999',
  pattern: '^(0|[1-9][0-9]{0,4})$',
  wrong: text => (/^(0|[1-9][0-9]{0,4})$/.test(text) ? undefined : 'is not a partition number'),
}

export const configName: TextRule = {
  type: 'text',
  allowed: 'the name of a topic setting, such as retention.ms',
  pattern: '^[A-Za-z0-9._-]+$',
  wrong: text => (/^[A-Za-z0-9._-]+$/.test(text) ? undefined : 'is not the name of a setting'),
}

/** After an `@`: a topic ID in hex or a prefix of it, or as Kafka prints it, each maybe with a number. */
const id = '([0-9A-Fa-f]{4,32}|[A-Za-z0-9_-]{22})(\\.[1-9][0-9]{0,5})?'
const time = '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,3})?)?(Z|[+-][0-9]{2}:?[0-9]{2})'
/** Looser than both, since a Kubernetes API server refuses definitions with long patterns as too costly. */
const incarnation = '(@[0-9A-Za-z_.:+-]{4,40})?'
const HINT = '@ and a topic ID or a time select an older incarnation'

/** Topics of a backup, in which a name may have several incarnations. */
export const storedTopicPattern: TextRule = ofIncarnation(topicPattern)

/** One topic of a backup. */
export const storedTopicName: TextRule = ofIncarnation(topicName)

export const storedTopicPartition: TextRule = {
  type: 'text',
  allowed: 'topic/partition, such as orders/0 or orders@1a2b3c4d/0',
  pattern: `^[A-Za-z0-9._-]{1,249}${incarnation}/(0|[1-9][0-9]{0,4})$`,
  wrong: text => {
    const slash = text.lastIndexOf('/')
    if (slash < 0) {
      const [, topic, partition] = /^([^@]+)[-:#](\d+)$/.exec(text) ?? []
      return topic === undefined ? 'has no partition' : `has no slash: write ${topic}/${partition}`
    }
    return storedTopicName.wrong(text.slice(0, slash)) ?? partitionNumber.wrong(text.slice(slash + 1))
  },
}

/** The name of `name@incarnation`. */
export function nameOf(topic: string): string {
  const at = topic.indexOf('@')
  return at < 0 ? topic : topic.slice(0, at)
}

function ofIncarnation(rule: TextRule): TextRule {
  return {
    ...rule,
    allowed: `${rule.allowed}; ${HINT}`,
    pattern: rule.pattern.replace(/\$$/, `${incarnation}$`),
    wrong: text => {
      const name = nameOf(text)
      return rule.wrong(name) ?? (name === text ? undefined : wrongIncarnation(text.slice(name.length + 1)))
    },
  }
}

function wrongIncarnation(which: string): string | undefined {
  if (new RegExp(`^${id}$`).test(which)) return undefined
  if (!/^\d{4}-\d{2}-\d{2}/.test(which)) return 'has neither a topic ID nor a time after its @'
  const read = parseTime(which)
  if (typeof read !== 'bigint') return `has a time after its @ that ${read.wrong}`
  return new RegExp(`^${time}$`).test(which) ? undefined : 'has a time after its @ that is not ISO 8601 with a T'
}
