import type { CommandSpec } from './command-spec.ts'
import { copyCommand } from './copy-command.ts'
import { deleteCommand } from './delete-table.ts'
import { keyCommand } from './key-command.ts'
import { offsetsCommand } from './offsets-table.ts'
import { crdsCommand, operatorCommand } from './operator-table.ts'
import {
  backupId,
  commit,
  config,
  deep,
  dryRun,
  keyFile,
  newIncarnation,
  type OptionSpec,
  offset,
  partition,
  path,
  report,
  set,
  shard,
  target,
  topic,
} from './option-specs.ts'
import { pruneCommand } from './prune-table.ts'
import { registryCommand, schemasCommand } from './schema-commands.ts'
import { topicsCommand } from './topics-command.ts'

const jobInPlaceOfPath: OptionSpec = { ...config, description: 'the job file (YAML), in place of `--path`' }

const jobInPlaceOfBackup: OptionSpec = {
  ...config,
  description: 'the job file (YAML), in place of `--path` and `--backup-id`',
}

const jobInPlaceOfAll: OptionSpec = {
  ...config,
  description: 'the job file (YAML) of the restore, in place of `--path`, `--backup-id` and `--target`',
}

const restoreJob: OptionSpec = { ...config, description: 'the job file (YAML) of the restore', isRequired: true }

const restoreSet: OptionSpec = {
  ...set,
  description: 'overrides a field of the job file, such as `--set restore.topics.include=orders`; may be repeated',
}

const restoreDryRun: OptionSpec = {
  ...dryRun,
  description: 'shows what would be written and every blocker, and writes nothing',
}

const nothingChanged = { onInterrupt: 'Nothing was changed; run the same command again.', stopsAtOnce: true } as const

/** The commands: the parser, the help, the completion and docs/cli.md are made of this. */
export const commandTable: readonly CommandSpec[] = [
  {
    name: 'check',
    summary: 'try out what a job needs, without copying anything',
    description:
      'Connects to the cluster and the storage of a job, and lists what the job may do and what it may not, with the missing permissions by name. For a job that makes backups it writes nothing to a folder, and to a bucket only the small object of the probe. For a restore it looks at the backup and the target as `restore --dry-run` does, and writes nothing at all.',
    options: [{ ...config, isRequired: true }, set],
    examples: [
      { command: 'kafka-backup check --config job.yaml', meaning: 'before the first run' },
      { command: 'kafka-backup check --config restore.yaml', meaning: 'the same for a restore' },
      {
        command: 'kafka-backup check --config job.yaml --set source.bootstrap_servers=kafka-2:9092',
        meaning: 'the same job against another broker',
      },
    ],
    exits: '1 when something is missing',
    ...nothingChanged,
  },
  {
    name: 'backup',
    summary: 'copy what is new on the cluster to the storage',
    description:
      'Copies the topics of a job up to their current end. Run it again to copy what is new, or to continue where it stopped. When it is interrupted, it commits what is durable first.',
    options: [{ ...config, isRequired: true }, set, dryRun, newIncarnation, shard, commit, report],
    examples: [
      { command: 'kafka-backup backup --config job.yaml', meaning: 'copies all that is new' },
      { command: 'kafka-backup backup --config job.yaml --dry-run', meaning: 'only shows what that would be' },
      {
        command: 'kafka-backup backup --config job.yaml --format json --log-format json -v',
        meaning: 'for machines: JSON on both outputs',
      },
      {
        command: 'kafka-backup backup --config job.yaml --shard 0/4',
        meaning: 'one of four processes that share the work',
      },
      { command: 'kafka-backup backup --config job.yaml --commit', meaning: 'when all four are done' },
      {
        command: 'kafka-backup backup --config job.yaml --new-incarnation orders',
        meaning: 'once, after the source was rolled back',
      },
    ],
    exits:
      '3 when the storage is damaged; 4 for gaps under `backup.on_gap: fail`, when a part could be kept, or when a shard is missing; 5 when another writer is active; 130 or 143 when interrupted',
  },
  {
    name: 'restore',
    summary: 'restore a backup to a cluster',
    description:
      'Writes the records of a backup to the target of a job, each one exactly once; before them the schemas, where the job has a schema registry. It reports every blocker before it writes anything, and records its progress on the target: run it again after an interruption or a crash to continue where it stopped.',
    options: [restoreJob, restoreSet, restoreDryRun, report],
    examples: [
      {
        command: 'kafka-backup restore --config restore.yaml --dry-run',
        meaning: 'what would be written, and every blocker',
      },
      { command: 'kafka-backup restore --config restore.yaml', meaning: 'writes it, or resumes it' },
      {
        command: 'kafka-backup restore --config restore.yaml --set restore.topics.include=orders',
        meaning: 'one topic of it',
      },
    ],
    exits:
      '1 when there is a blocker, and 3 when the backup is damaged, also for `--dry-run`; 3 when `restore.verify` finds a difference; 4 when all is restored but the registry cannot hold all of the schemas and `enterprise.schema_registry.restore.accept_loss` does not list that kind of loss, also for `--dry-run`; 5 when another writer writes to the topics or restores into the registry; 130 or 143 when interrupted',
    onInterrupt: 'What was written is recorded on the target; run the same command to continue.',
  },
  {
    name: 'list',
    summary: 'list the backups at one or more locations',
    description:
      'Shows one row for each backup at the location. Given several locations, it shows them in one table, and one that cannot be read is named in the end.',
    options: [
      { ...path, description: `${path.description}; may be repeated`, isRepeatable: true, plural: 'paths' },
      {
        ...jobInPlaceOfPath,
        description: `${jobInPlaceOfPath.description}; may be repeated`,
        isRepeatable: true,
        plural: 'configs',
      },
      set,
      keyFile,
    ],
    examples: [
      { command: 'kafka-backup list --path /backups', meaning: 'all backups in the folder' },
      { command: 'kafka-backup list --config job.yaml', meaning: 'all backups where the job keeps its own' },
      {
        command: 'kafka-backup list --path /backups --path s3://backups/kafka',
        meaning: 'the backups of two locations in one table',
      },
    ],
    exits: '1 also when a location or a backup among them cannot be read; 3 when a backup is damaged',
    ...nothingChanged,
  },
  {
    name: 'describe',
    summary: 'show what a backup holds',
    description: 'Shows the newest state of a backup: its topics with counts, sizes, times, settings and gaps.',
    options: [path, backupId, jobInPlaceOfBackup, set, keyFile],
    examples: [
      { command: 'kafka-backup describe --path /backups --backup-id orders', meaning: 'for people' },
      {
        command: 'kafka-backup describe --path /backups --backup-id orders --format json',
        meaning: 'with every partition, for programs',
      },
    ],
    exits: '3 when the backup is damaged',
    ...nothingChanged,
  },
  {
    name: 'verify',
    summary: 'check that a backup is whole',
    description:
      'Checks that all objects of the newest state are there with the right size, and that offsets follow one another without an unrecorded gap. With `--deep` every byte is read and checked.',
    options: [path, backupId, jobInPlaceOfBackup, set, deep, keyFile],
    examples: [
      { command: 'kafka-backup verify --path /backups --backup-id orders', meaning: 'quick: reads no data' },
      { command: 'kafka-backup verify --config job.yaml --deep', meaning: 'the whole proof, for the backup of a job' },
    ],
    exits: '3 when something is damaged or missing',
    ...nothingChanged,
  },
  pruneCommand,
  deleteCommand,
  copyCommand,
  {
    name: 'compare',
    summary: 'prove that a restored cluster holds what the backup says',
    description:
      'Reads the target of a restore back and compares every record in order: key, value, headers and timestamp. Shows at most ten differences a partition, with a few bytes of each. Changes nothing.',
    options: [jobInPlaceOfAll, path, backupId, target, restoreSet, keyFile],
    examples: [
      {
        command: 'kafka-backup compare --config restore.yaml',
        meaning: 'with the mapping and the selection of the job',
      },
      {
        command: 'kafka-backup compare --path /backups --backup-id orders --target localhost:9092',
        meaning: 'everything, under its own names',
      },
    ],
    exits: '3 when something differs, is missing or too many',
    ...nothingChanged,
  },
  {
    name: 'offset-map',
    summary: 'show where the records of the source are on the target',
    description:
      'Reads from the backup and from the batches of the target which offset became which, exactly and for every record. Shows stretches without holes.',
    options: [restoreJob, restoreSet, topic, partition, offset],
    examples: [
      { command: 'kafka-backup offset-map --config restore.yaml --topic orders', meaning: 'all of a topic' },
      {
        command: 'kafka-backup offset-map --config restore.yaml --topic orders --partition 0 --offset 4711',
        meaning: 'where one record went',
      },
    ],
    exits: '1 also when neither the record nor a later one is on the target',
    ...nothingChanged,
  },
  topicsCommand,
  offsetsCommand,
  schemasCommand,
  registryCommand,
  keyCommand,
  operatorCommand,
  crdsCommand,
  {
    name: 'completion',
    summary: 'print a completion script for a shell',
    description: 'Prints a script that lets the shell complete commands, options and their values.',
    argument: { name: 'shell', choices: ['bash', 'zsh', 'fish'], description: 'the shell' },
    options: [],
    examples: [
      { command: 'source <(kafka-backup completion bash)', meaning: 'in ~/.bashrc' },
      { command: 'kafka-backup completion zsh > "$fpath[1]/_kafka-backup"', meaning: 'once' },
      {
        command: 'kafka-backup completion fish > ~/.config/fish/completions/kafka-backup.fish',
        meaning: 'once',
      },
    ],
  },
]
