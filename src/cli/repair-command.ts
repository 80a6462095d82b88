import type { CommandSpec } from './command-spec.ts'
import { backupIdOperand } from './operands.ts'
import { backupId, config, deep, dryRun, keyFile, set, usualPath } from './option-specs.ts'

export const repairCommand: CommandSpec = {
  name: 'repair',
  summary: 'commit what is readable of a damaged backup',
  description:
    'Find what can be read of a backup of format version 2 whose log or records are damaged, show what is lost, and after a confirmation commit the rest as a new generation. Records that are lost at the end of a partition are copied again by the next run if the source still has them; what older generations still hold is taken from there; the rest become gaps. A lost marker of format version 2 (`manifests/<n>.json`) is written again. Nothing is removed. Format version 1 needs no repair: each of its generations is complete by itself.',
  operands: [backupIdOperand],
  options: [
    usualPath,
    backupId,
    { ...config, description: 'the job file (YAML), instead of `--path` and `--backup-id`' },
    set,
    deep,
    keyFile,
    { ...dryRun, description: 'show what would be committed and what is lost; change nothing' },
    { name: 'yes', short: 'y', description: 'skip the confirmation' },
  ],
  examples: [
    {
      command: 'kafka-backup repair --path /backups --backup-id orders --deep --dry-run',
      meaning: 'read every byte, and show what is lost',
    },
    {
      command: 'kafka-backup repair --path /backups --backup-id orders',
      meaning: 'commit the rest after a confirmation',
    },
  ],
  exits:
    '2 without a terminal to confirm on and without `--yes`: nothing is committed; 3 if no generation can be read, and with `--dry-run` if a repair is needed; 4 if it was repaired and some records are lost; 5 if another process writes to the backup',
  onInterrupt: 'Nothing was committed, unless the command reported it; run the same command again.',
}
