import { type CommandSpec, NOTHING_CHANGED } from './command-spec.ts'
import { backupIdOperand } from './operands.ts'
import { backupId, config, keyFile, set, usualPath } from './option-specs.ts'

const number = { kind: 'text', label: 'number' } as const

export const diffCommand: CommandSpec = {
  name: 'diff',
  summary: 'show what changed between two generations of a backup',
  description:
    'Compare two generations of a backup: topics and partitions that were added, removed or re-created, records, bytes and gaps of each partition, topic settings, schemas, committed offsets of consumer groups, and access rules. It reads no records.',
  operands: [backupIdOperand],
  options: [
    usualPath,
    backupId,
    { ...config, description: 'the job file (YAML), instead of `--path` and `--backup-id`' },
    set,
    { name: 'from', value: number, description: 'the earlier generation', isRequired: true },
    { name: 'to', value: number, description: 'the later generation; default: the latest' },
    keyFile,
  ],
  examples: [
    {
      command: 'kafka-backup diff --path /backups --backup-id orders --from 41 --to 43',
      meaning: 'show what two commits changed',
    },
    {
      command: 'kafka-backup diff --config job.yaml --from 41 --format json',
      meaning: 'print every partition that changed since then as JSON',
    },
  ],
  exits: '0 also if they differ: `equal` is false in the JSON document; 3 if the backup is damaged',
  onInterrupt: NOTHING_CHANGED,
  stopsAtOnce: true,
}
