import { type CommandSpec, NOTHING_CHANGED } from './command-spec.ts'
import { backupIdOperand, locationsOperand } from './operands.ts'
import {
  asOf,
  backupId,
  config,
  generation,
  jobInPlaceOfBackup,
  keyFile,
  type OptionSpec,
  path,
  set,
  usualPath,
} from './option-specs.ts'

const jobInPlaceOfPath: OptionSpec = { ...config, description: 'the job file (YAML), instead of `--path`' }

export const listCommand: CommandSpec = {
  name: 'list',
  summary: 'list the backups at one or more locations',
  description:
    'Show one row for each backup at the location. With several locations, show all backups in one table, and name locations that cannot be read at the end. With `--generations`, show the committed states of one backup instead, the latest first.',
  operands: [locationsOperand],
  options: [
    { ...usualPath, description: `${path.description}; repeatable`, isRepeatable: true, plural: 'paths' },
    {
      ...jobInPlaceOfPath,
      description: `${jobInPlaceOfPath.description}; repeatable`,
      isRepeatable: true,
      plural: 'configs',
    },
    set,
    keyFile,
    { name: 'generations', description: 'list the generations of the backup of `--backup-id` or of the job' },
    { ...backupId, description: 'the backup whose generations are listed' },
    {
      name: 'limit',
      value: { kind: 'text', label: 'number' },
      description: 'the number of generations to list; default 20',
    },
  ],
  examples: [
    { command: 'kafka-backup list --path /backups', meaning: 'list all backups in the folder' },
    { command: 'kafka-backup list --config job.yaml', meaning: 'list all backups in the storage of the job' },
    {
      command: 'kafka-backup list --path /backups --path s3://backups/kafka',
      meaning: 'list two locations in one table',
    },
    {
      command: 'kafka-backup list --path /backups --backup-id orders --generations',
      meaning: 'list the states that a restore can select',
    },
  ],
  exits:
    '1 also if a location or a backup cannot be read, unless only a key is missing; 3 if a backup or a listed generation cannot be read because it is damaged; 0 also if a verification or a drill found damage, which is shown: `status` ends with 3',
  onInterrupt: NOTHING_CHANGED,
  stopsAtOnce: true,
}

export const describeCommand: CommandSpec = {
  name: 'describe',
  summary: 'show the contents of a backup',
  description:
    'Show the latest state of a backup, or the one that you select: its topics with counts, sizes, times, settings and gaps.',
  operands: [backupIdOperand],
  options: [usualPath, backupId, jobInPlaceOfBackup, set, generation, asOf, keyFile],
  examples: [
    { command: 'kafka-backup describe --path /backups --backup-id orders', meaning: 'print tables' },
    {
      command: 'kafka-backup describe orders',
      meaning: 'the same with the location in KAFKA_BACKUP_LOCATION',
    },
    {
      command: 'kafka-backup describe --path /backups --backup-id orders --format json',
      meaning: 'print every partition as JSON',
    },
    {
      command: 'kafka-backup describe --config job.yaml --as-of 2026-01-31T08:00:00Z',
      meaning: 'show the state of a point in time',
    },
  ],
  exits: '3 if the backup is damaged',
  onInterrupt: NOTHING_CHANGED,
  stopsAtOnce: true,
}
