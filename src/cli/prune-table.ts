import type { CommandSpec } from './command-spec.ts'
import { config, dryRun, keyFile, type OptionSpec, path, set } from './option-specs.ts'

const text = (label: string) => ({ kind: 'text', label }) as const

const keepRule = (name: string, what: string): OptionSpec => ({
  name: `keep-${name}`,
  value: text('number'),
  description: `keep ${what}`,
})

export const pruneCommand: CommandSpec = {
  name: 'prune',
  summary: 'remove expired backups and old segments by retention rules',
  description:
    'Show what the retention rules keep and what expires, and remove it after a confirmation. An expired backup is first only marked; `--keep` keeps it until its grace period ends. In backups that are kept, prune removes expired segments, and generations and objects that are no longer needed. It never removes the latest complete backup, or anything in use. Rules come from `retention` in the job file, and from options, which override it.',
  options: [
    path,
    { ...config, description: 'the job file (YAML) with the rules, instead of `--path`' },
    set,
    keyFile,
    {
      name: 'match',
      value: text('id'),
      description:
        'only these backups, as one series: an ID, or a pattern with * and ?; repeatable. By default the rules apply to every backup separately',
      isRepeatable: true,
    },
    keepRule('last', 'the latest N backups'),
    keepRule('hourly', 'one backup for each of the last N hours that have one'),
    keepRule('daily', 'one backup for each of the last N days that have one'),
    keepRule('weekly', 'one backup for each of the last N weeks that have one'),
    keepRule('monthly', 'one backup for each of the last N months that have one'),
    keepRule('yearly', 'one backup for each of the last N years that have one'),
    {
      name: 'keep-generations',
      value: text('rule=number'),
      description:
        'keep generations of each backup for longer than the grace period: `last=10`, `hourly=24`, `daily=7`, `weekly=8`, `monthly=12` or `yearly=5`; repeatable',
      isRepeatable: true,
    },
    {
      name: 'older-than',
      value: text('duration'),
      description: 'expire only what is older, such as `30d`; also removes older segments of backups that are kept',
    },
    {
      name: 'grace',
      value: text('duration'),
      description: 'how long expired data stays available to running readers; default 24h',
    },
    { ...dryRun, description: 'show what would be removed; change nothing' },
    { name: 'yes', short: 'y', description: 'skip the confirmation' },
    {
      name: 'keep',
      value: text('id'),
      description: 'keep an expired backup, and do nothing else; repeatable',
      isRepeatable: true,
    },
  ],
  examples: [
    {
      command: 'kafka-backup prune --config job.yaml --dry-run',
      meaning: 'show what the rules of the job would remove',
    },
    {
      command: 'kafka-backup prune --config job.yaml --yes',
      meaning: 'remove it without a confirmation, for schedulers',
    },
    {
      command: "kafka-backup prune --path /backups --match 'orders-*' --keep-last 7 --keep-weekly 8",
      meaning: 'use rules without a job file',
    },
    {
      command: 'kafka-backup prune --path /backups --keep-generations hourly=24 --keep-generations daily=30',
      meaning: 'thin the generations of every backup',
    },
    { command: 'kafka-backup prune --path /backups --older-than 30d', meaning: 'also remove old segments' },
    { command: 'kafka-backup prune --path /backups --keep orders-1', meaning: 'keep an expired backup' },
  ],
  exits:
    '0 also if something was skipped because it is in use, damaged or protected by the store; 2 without a terminal to confirm on and without `--yes`: nothing is removed; 4 if nothing was removed from a backup because the clock of this machine may be wrong; 5 if the lease could not be renewed',
  onInterrupt: 'No manifest refers to removed objects; run the same command to continue.',
}
