import type { CommandSpec } from './command-spec.ts'
import { backupId, config, dryRun, path, set } from './option-specs.ts'

export const deleteCommand: CommandSpec = {
  name: 'delete',
  summary: 'remove one whole backup, also the newest',
  description:
    'Shows what the backup holds, and removes all of it after its id was typed. No rule keeps it, and there is no grace period: this cannot be undone. A backup that is in use is left alone. Snapshots of consumer groups are stored next to the backups and stay.',
  options: [
    path,
    backupId,
    {
      name: 'match',
      value: { kind: 'text', label: 'pattern' },
      description: 'in place of one id: all backups whose ids match, with * and ?; may be repeated',
      isRepeatable: true,
    },
    { ...config, description: 'the job file (YAML) of the backup, in place of `--path` and `--backup-id`' },
    set,
    { ...dryRun, description: 'shows what would be removed and changes nothing' },
    { name: 'yes', short: 'y', description: 'does not ask; where there is nothing of the backup, that is a success' },
  ],
  examples: [
    { command: 'kafka-backup delete --path /backups --backup-id orders --dry-run', meaning: 'what would go' },
    { command: 'kafka-backup delete --path /backups --backup-id orders', meaning: 'asks for the id first' },
    {
      command: "kafka-backup delete --path /backups --match 'orders-????????t??????z' --dry-run",
      meaning: 'all that were made one by one, and their times are in their ids',
    },
    { command: 'kafka-backup delete --config job.yaml --yes', meaning: 'for schedulers; may be run again' },
  ],
  exits:
    '2 when there is no terminal to confirm on and `--yes` is missing: then nothing is removed; 4 when the store protects some of it: run it again when that has run out; 5 when the backup is in use: then nothing is removed, or the rest is removed when it is run again',
  onInterrupt: 'No manifest names what is gone; run the same command to continue.',
}
