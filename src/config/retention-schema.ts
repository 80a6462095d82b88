import { camelKeys } from './camel-keys.ts'
import { fields, type TextRule } from './leaf.ts'
import { duration, flag, integer } from './scalar-leaves.ts'
import { backupId, textList } from './text-leaves.ts'

const idPattern: TextRule = {
  ...backupId,
  allowed: 'a backup id in which * matches any characters and ? matches one',
  pattern: '^[A-Za-z0-9._*?-]{1,200}$',
  wrong: text => (/^[A-Za-z0-9._*?-]{1,200}$/.test(text) ? undefined : 'is not a backup id or pattern'),
}

const newestOf = (period: string) =>
  integer({ description: `Keeps the newest backup of each of so many ${period}, in UTC, that have one.`, min: 0 })

const newestGeneration = (period: string) =>
  integer({
    description: `Keeps the newest complete generation of each of so many ${period}, in UTC, that have one.`,
    min: 0,
  }).exactOptional()

const generationsSchema = fields({
  keep_last: integer({ description: 'Keeps so many complete generations, the newest ones.', min: 0 }).exactOptional(),
  keep_hourly: newestGeneration('hours'),
  keep_daily: newestGeneration('days'),
  keep_weekly: newestGeneration('weeks, which begin on Monday'),
  keep_monthly: newestGeneration('months'),
  keep_yearly: newestGeneration('years'),
})
  .transform(rules => camelKeys(rules))
  .meta({
    description:
      'Which generations of each backup stay for longer than `grace` after their successor. Without it: none. No data is copied for it.',
  })

export const retentionSchema = fields({
  match: textList(idPattern, {
    description:
      'The backups at the location that the rules are about. Without it: that of `backup_id` alone. Others are never touched.',
    allowed: 'at least one backup id or pattern with * and ?',
    min: 1,
  }).exactOptional(),
  keep_last: integer({ description: 'Keeps so many backups, the newest ones.', min: 0 }).exactOptional(),
  keep_hourly: newestOf('hours').exactOptional(),
  keep_daily: newestOf('days').exactOptional(),
  keep_weekly: newestOf('weeks, which begin on Monday').exactOptional(),
  keep_monthly: newestOf('months').exactOptional(),
  keep_yearly: newestOf('years').exactOptional(),
  generations: generationsSchema.exactOptional(),
  older_than: duration({
    description:
      'Only backups that are older are removed; with another rule those that it does not keep. Of a backup that grows, ' +
      'leading segments that were stored longer ago are cut off.',
    min: '1s',
    max: '36500d',
  }).exactOptional(),
  grace: duration({
    description:
      'How long what is not needed any more stays: an expired backup, a generation after its successor, an ' +
      'object that nothing names. It covers readers that may not write a lease.',
    min: '0s',
    max: '3650d',
  }).prefault('24h'),
  after_backup: flag({
    description: 'Prunes when a backup has ended well; a continuous one does so at most once an hour.',
  }).prefault(false),
})
  .transform(retention => camelKeys(retention, { older_than: 'olderThanMs', grace: 'graceMs' }))
  .meta({ description: 'Which backups `kafka-backup prune` keeps.' })
