import type { CommandSpec } from './command-spec.ts'
import { backupId, config, dryRun, path, set } from './option-specs.ts'

export const deleteCommand: CommandSpec = {
  name: 'delete',
  summary: 'remove a complete backup, even the latest',
  description:
    'Show the contents of a backup, and remove all of it after you type its ID. Retention rules and grace periods do not apply, and this cannot be undone. A backup in use is not removed, nor one with a generation that is held. Snapshots of consumer groups are stored next to the backups and are kept.',
  options: [
    path,
    backupId,
    {
      name: 'match',
      value: { kind: 'text', label: 'pattern' },
      description: 'instead of one ID: all backups whose IDs match a pattern with * and ?; repeatable',
      isRepeatable: true,
    },
    { ...config, description: 'the job file (YAML) of the backup, instead of `--path` and `--backup-id`' },
    set,
    { ...dryRun, description: 'show what would be removed; change nothing' },
    { name: 'yes', short: 'y', description: 'skip the confirmation; succeed also if the location does not exist' },
  ],
  examples: [
    {
      command: 'kafka-backup delete --path /backups --backup-id orders --dry-run',
      meaning: 'show what would be removed',
    },
    { command: 'kafka-backup delete --path /backups --backup-id orders', meaning: 'remove it after you type its ID' },
    {
      command: "kafka-backup delete --path /backups --match 'orders-????????t??????z' --dry-run",
      meaning: 'show all backups with a time in their ID',
    },
    {
      command: 'kafka-backup delete --config job.yaml --yes',
      meaning: 'remove it without a confirmation; safe to run again',
    },
  ],
  exits:
    '1 if a generation is held; 2 without a terminal to confirm on and without `--yes`: nothing is removed; 4 if the store protects some objects: run it again when the protection has ended; 5 if the backup is in use: run it again later to remove it, or the rest of it',
  onInterrupt: 'No manifest refers to removed objects; run the same command to continue.',
}
