import type { CommandSpec } from './command-spec.ts'
import { config, dryRun, keyFile, type OptionSpec, path, set } from './option-specs.ts'

const text = (label: string) => ({ kind: 'text', label }) as const

const keepRule = (name: string, what: string): OptionSpec => ({
  name: `keep-${name}`,
  value: text('number'),
  description: `keeps ${what}`,
})

export const pruneCommand: CommandSpec = {
  name: 'prune',
  summary: 'remove backups, and parts of them, that are not to be kept',
  description:
    'Shows what the retention rules keep and what expires, and asks for confirmation. An expired backup is only marked at first, and `--keep` keeps it until its grace period is over. In backups that stay, segments that are too old are cut off, and generations and objects that nothing needs any more are removed. The newest complete backup, and what is in use, are never removed. Rules come from `retention` of the job file, and from options, which override it.',
  options: [
    path,
    { ...config, description: 'the job file (YAML) with the rules, in place of `--path`' },
    set,
    keyFile,
    {
      name: 'match',
      value: text('id'),
      description:
        'only these backups, as one series: an id, or a pattern with * and ?; may be repeated. Without it every backup is judged by itself',
      isRepeatable: true,
    },
    keepRule('last', 'so many backups, the newest ones'),
    keepRule('hourly', 'the newest of each of so many hours that have one'),
    keepRule('daily', 'the newest of each of so many days'),
    keepRule('weekly', 'the newest of each of so many weeks'),
    keepRule('monthly', 'the newest of each of so many months'),
    keepRule('yearly', 'the newest of each of so many years'),
    {
      name: 'older-than',
      value: text('duration'),
      description: 'only what is older goes, such as `30d`; cuts off older segments of backups that stay',
    },
    {
      name: 'grace',
      value: text('duration'),
      description: 'how long what goes stays for those who still read it; 24h where nothing else is said',
    },
    { ...dryRun, description: 'shows what would be removed and changes nothing' },
    { name: 'yes', short: 'y', description: 'does not ask for confirmation' },
    {
      name: 'keep',
      value: text('id'),
      description: 'keeps an expired backup, and does nothing else; may be repeated',
      isRepeatable: true,
    },
  ],
  examples: [
    { command: 'kafka-backup prune --config job.yaml --dry-run', meaning: 'what the rules of the job would remove' },
    { command: 'kafka-backup prune --config job.yaml --yes', meaning: 'removes it, for schedulers' },
    {
      command: "kafka-backup prune --path /backups --match 'orders-*' --keep-last 7 --keep-weekly 8",
      meaning: 'rules without a job file; asks first',
    },
    { command: 'kafka-backup prune --path /backups --older-than 30d', meaning: 'also cuts off old segments' },
    { command: 'kafka-backup prune --path /backups --keep orders-1', meaning: 'keeps an expired backup' },
  ],
  exits:
    '0 also when something is in use, damaged or protected by the store and therefore left; 2 when there is no terminal to confirm on and `--yes` is missing: then nothing is removed; 5 when the lease could not be renewed',
  onInterrupt: 'No manifest names what is gone; run the same command to continue.',
}
