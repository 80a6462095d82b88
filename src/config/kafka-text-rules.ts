import type { TextRule } from './text-rules.ts'

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
