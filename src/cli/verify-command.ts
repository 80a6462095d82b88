import { type CommandSpec, NOTHING_CHANGED } from './command-spec.ts'
import { backupIdOperand } from './operands.ts'
import {
  asOf,
  backupId,
  deep,
  generation,
  jobInPlaceOfBackup,
  keyFile,
  type OptionSpec,
  set,
  usualPath,
} from './option-specs.ts'

const noRecord: OptionSpec = {
  name: 'no-record',
  description: 'do not store the result with the backup, where `list`, `describe` and the console show it',
}

export const verifyCommand: CommandSpec = {
  name: 'verify',
  summary: 'check that a backup is complete and intact',
  description:
    'Check that all objects of the latest state, or of the one that you select, exist with the right size, and that there are no unrecorded gaps between offsets. With `--deep`, read and check every byte. The result is stored with the backup as a small object, if the storage permits it.',
  operands: [backupIdOperand],
  options: [usualPath, backupId, jobInPlaceOfBackup, set, generation, asOf, deep, noRecord, keyFile],
  examples: [
    {
      command: 'kafka-backup verify --path /backups --backup-id orders',
      meaning: 'check objects and sizes; reads no data',
    },
    { command: 'kafka-backup verify --config job.yaml --deep', meaning: 'check every byte of the backup of a job' },
  ],
  exits: '3 if something is damaged or missing',
  onInterrupt: NOTHING_CHANGED,
  stopsAtOnce: true,
}
