import * as z from 'zod'
import { camelKeys } from './camel-keys.ts'
import { fields, type TextRule } from './leaf.ts'
import { choice, duration } from './scalar-leaves.ts'
import { httpUrl, text, textList, tokenUrl } from './text-leaves.ts'

/** What can be posted to a webhook. */
export const webhookEvents = ['failure', 'gap', 'stale'] as const

const eventName: TextRule = {
  type: 'text',
  allowed: webhookEvents.join(', '),
  pattern: `^(${webhookEvents.join('|')})$`,
  wrong: name => (webhookEvents.some(one => one === name) ? undefined : 'is not known'),
}

const webhookUrl: TextRule = {
  ...httpUrl,
  allowed: 'an https URL, or http to this machine',
  wrong: url =>
    tokenUrl.wrong(url) === undefined ? undefined : 'is not an https URL without a user, or http to this machine',
}

const webhookSchema = fields({
  url: text(webhookUrl, {
    description: 'Where messages are posted. It often is a secret itself: take it from a variable.',
    secret: true,
  }),
  format: choice(['json', 'slack'], {
    description: 'The body: all fields as JSON, or the `text` that Slack, Mattermost and others show.',
  }).prefault('json'),
  events: textList(eventName, {
    description: 'What is posted: runs that fail, new gaps, and backups that `status --notify` finds stale.',
    allowed: `at least one of ${webhookEvents.join(', ')}`,
    min: 1,
  }).prefault([...webhookEvents]),
})

export const monitoringSchema = fields({
  expected_interval: duration({
    description:
      'How often the backup is expected to commit. `status` reports it as late after 1.25 times, and as stale after twice this time.',
    min: '1s',
    max: '3650d',
  }).exactOptional(),
  webhooks: z
    .array(webhookSchema)
    .meta({ description: 'Where failures, gaps and stale backups are posted.' })
    .prefault([]),
})
  .transform(monitoring => camelKeys(monitoring, { expected_interval: 'expectedIntervalMs' }))
  .meta({ description: 'What `status` compares with, and where trouble is posted.' })
