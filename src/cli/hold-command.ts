import type { CommandSpec } from './command-spec.ts'
import { backupIdOperand } from './operands.ts'
import { asOf, backupId, config, generation, keyFile, set, usualPath } from './option-specs.ts'

export const holdCommand: CommandSpec = {
  name: 'hold',
  summary: 'keep a generation of a backup until it is released',
  description:
    'Pin a generation of a backup: `prune` does not remove it, and `delete` refuses to remove its backup, until the hold is released. Without `--generation` and `--as-of`, it pins the latest generation. `list --generations` shows the holds. A copy of the backup does not have them.',
  operands: [backupIdOperand],
  options: [
    usualPath,
    backupId,
    { ...config, description: 'the job file (YAML), instead of `--path` and `--backup-id`' },
    set,
    generation,
    asOf,
    { name: 'reason', value: { kind: 'text', label: 'text' }, description: 'the reason, for `list --generations`' },
    { name: 'release', description: 'end the hold of `--generation`' },
    keyFile,
  ],
  examples: [
    {
      command: 'kafka-backup hold --path /backups --backup-id orders --generation 41 --reason audit',
      meaning: 'keep a generation',
    },
    {
      command: 'kafka-backup hold --config job.yaml --as-of 2026-01-31T08:00:00Z',
      meaning: 'keep the state of a point in time',
    },
    {
      command: 'kafka-backup hold --path /backups --backup-id orders --generation 41 --release',
      meaning: 'let the retention rules remove it again',
    },
  ],
  exits: '0 also if it was held, or released, before; 5 if a prune or delete is running: nothing is held',
}
