import { catCommand, exportCommand, searchCommand } from './cat-command.ts'
import { type CommandSpec, NOTHING_CHANGED } from './command-spec.ts'
import { completionCommand } from './completion-command.ts'
import { consoleCommand } from './console-command.ts'
import { copyCommand } from './copy-command.ts'
import { deleteCommand } from './delete-table.ts'
import { diffCommand } from './diff-command.ts'
import { drillCommand } from './drill-command.ts'
import { holdCommand } from './hold-command.ts'
import { importCommand } from './import-command.ts'
import { initCommand } from './init-command.ts'
import { keyCommand } from './key-command.ts'
import { kubectlCommand } from './kubectl-command.ts'
import { describeCommand, listCommand } from './list-command.ts'
import { offsetsCommand } from './offsets-table.ts'
import { jobFileOperand } from './operands.ts'
import { crdsCommand, operatorCommand } from './operator-table.ts'
import {
  asOf,
  backupId,
  config,
  dryRun,
  generation,
  keyFile,
  type OptionSpec,
  offset,
  partition,
  report,
  set,
  target,
  topic,
  usualPath,
} from './option-specs.ts'
import { probe, probeTarget } from './probe-options.ts'
import { pruneCommand } from './prune-table.ts'
import { repairCommand } from './repair-command.ts'
import { registryCommand, schemasCommand } from './schema-commands.ts'
import { commit, finish, prepare, restoreShard, shard, shards } from './shard-options.ts'
import { statusCommand } from './status-command.ts'
import { topicsCommand } from './topics-command.ts'
import { verifyCommand } from './verify-command.ts'

const jobInPlaceOfAll: OptionSpec = {
  ...config,
  description: 'the job file (YAML) of the restore, instead of `--path`, `--backup-id` and `--target`',
}

const restoreJob: OptionSpec = { ...config, description: 'the job file (YAML) of the restore', isRequired: true }

const restoreSet: OptionSpec = {
  ...set,
  description: 'override a field of the job file, such as `--set restore.topics.include=orders`; repeatable',
}

const restoreDryRun: OptionSpec = {
  ...dryRun,
  description: 'show what would be written and every blocker; write nothing',
}

const newIncarnation: OptionSpec = {
  name: 'new-incarnation',
  value: { kind: 'text', label: 'topic' },
  isRepeatable: true,
  description:
    'keep the stored records of the topic as an older incarnation, and copy the topic again from its log start; repeatable',
}

const acls: OptionSpec = {
  name: 'acls',
  value: { kind: 'choice', label: 'form', choices: ['kafka-acls', 'strimzi'] },
  description:
    'print the ACLs that the user of the job needs, as commands or as rules of a Strimzi KafkaUser; contact neither the cluster nor the storage',
}

const storage: OptionSpec = {
  name: 'storage',
  description:
    'check only whether the storage can be read and, for a backup job, written to; the job needs no cluster and none is contacted',
}

const nothingChanged = { onInterrupt: NOTHING_CHANGED, stopsAtOnce: true } as const

/** All commands. The parser, the help, the completion and docs/cli.md are generated from this table. */
export const commandTable: readonly CommandSpec[] = [
  initCommand,
  {
    name: 'check',
    summary: 'check connectivity and permissions without copying anything',
    description:
      'Connect to the cluster and the storage of a job, and list its permissions and what is missing. For a backup job, it tries to write: it creates and removes an empty folder, or leaves a small probe object in a bucket. For a restore job, it runs the checks of `restore --dry-run` and writes nothing. With `--acls`, print the permissions that the job needs instead.',
    operands: [jobFileOperand],
    options: [{ ...config, isRequired: true }, set, storage, acls],
    examples: [
      { command: 'kafka-backup check --config job.yaml', meaning: 'check a job before its first run' },
      { command: 'kafka-backup check --config restore.yaml', meaning: 'check a restore' },
      {
        command: 'kafka-backup check --config job.yaml --storage',
        meaning: 'check only whether the storage can be used',
      },
      {
        command: 'kafka-backup check --config job.yaml --acls kafka-acls',
        meaning: 'print the commands that grant the permissions of the job',
      },
      {
        command: 'kafka-backup check --config job.yaml --set source.bootstrap_servers=kafka-2:9092',
        meaning: 'check the job against another broker',
      },
    ],
    exits: '1 if a check fails',
    ...nothingChanged,
  },
  {
    name: 'backup',
    summary: 'copy new records of the cluster to the storage',
    description:
      'Copy the topics of a job up to their current end. Run it again to copy new records, or to continue where it stopped. An interrupted backup first commits what is durable.',
    operands: [jobFileOperand],
    options: [{ ...config, isRequired: true }, set, dryRun, newIncarnation, shard, commit, report],
    examples: [
      { command: 'kafka-backup backup --config job.yaml', meaning: 'copy all new records' },
      { command: 'kafka-backup backup --config job.yaml --dry-run', meaning: 'show what would be copied' },
      {
        command: 'kafka-backup backup --config job.yaml --format json --log-format json -v',
        meaning: 'print JSON to both outputs',
      },
      {
        command: 'kafka-backup backup --config job.yaml --shard 0/4',
        meaning: 'run one of four processes that share the work',
      },
      { command: 'kafka-backup backup --config job.yaml --commit', meaning: 'commit when all four are done' },
      {
        command: 'kafka-backup backup --config job.yaml --new-incarnation orders',
        meaning: 'run once after the source was rolled back',
      },
    ],
    exits:
      '3 if the storage is damaged; 4 for gaps with `backup.on_gap: fail`, after a failure with a part committed, if partitions have no leader (also with `--dry-run`), or if a shard is missing; 5 if another writer is active; 130 or 143 if interrupted',
  },
  {
    name: 'restore',
    summary: 'restore a backup to a cluster',
    description:
      'Write the records of a backup to the target of a job, each exactly once. If the job has a schema registry, restore the schemas first. It reports every blocker before it writes anything, and stores its progress on the target: run it again after an interruption or a crash to continue where it stopped.',
    operands: [jobFileOperand],
    options: [
      restoreJob,
      restoreSet,
      generation,
      asOf,
      restoreDryRun,
      probe,
      probeTarget,
      prepare,
      shards,
      restoreShard,
      finish,
      report,
    ],
    examples: [
      {
        command: 'kafka-backup restore --config restore.yaml --dry-run',
        meaning: 'show what would be written, and every blocker',
      },
      {
        command: 'kafka-backup restore --config restore.yaml --dry-run --probe-target',
        meaning: 'estimate how long the restore takes, and what limits it',
      },
      { command: 'kafka-backup restore --config restore.yaml', meaning: 'start or resume the restore' },
      {
        command: 'kafka-backup restore --config restore.yaml --set restore.topics.include=orders',
        meaning: 'restore one topic',
      },
      {
        command: 'kafka-backup restore --config restore.yaml --as-of 2026-01-31T08:00:00Z',
        meaning: 'restore the state of a point in time',
      },
    ],
    exits:
      '1 if there is a blocker, and 3 if the backup is damaged, also with `--dry-run`; 3 if `restore.verify` finds a difference; 4 if some committed offsets or access rules could not be restored, or if `--finish` misses a shard; 4 if the registry cannot store all parts of the schemas and `enterprise.schema_registry.restore.accept_loss` does not list that kind of loss, also with `--dry-run`; 5 if another process writes to the topics or restores into the registry; 130 or 143 if interrupted',
    onInterrupt: 'What was written is recorded on the target; run the same command to continue.',
  },
  statusCommand,
  listCommand,
  describeCommand,
  catCommand,
  searchCommand,
  exportCommand,
  consoleCommand,
  verifyCommand,
  drillCommand,
  diffCommand,
  holdCommand,
  pruneCommand,
  deleteCommand,
  repairCommand,
  copyCommand,
  importCommand,
  {
    name: 'compare',
    summary: 'compare a restored cluster with its backup, record by record',
    description:
      'Read the target of a restore and compare every record in order: key, value, headers and timestamp. It shows at most ten differences per partition, with a few bytes of each, and changes nothing.',
    operands: [jobFileOperand],
    options: [jobInPlaceOfAll, usualPath, backupId, target, restoreSet, generation, asOf, keyFile],
    examples: [
      {
        command: 'kafka-backup compare --config restore.yaml',
        meaning: 'compare with the mapping and the selection of the job',
      },
      {
        command: 'kafka-backup compare --path /backups --backup-id orders --target localhost:9092',
        meaning: 'compare everything, without a mapping',
      },
    ],
    exits: '3 if a record differs, is missing or is surplus',
    ...nothingChanged,
  },
  {
    name: 'offset-map',
    summary: 'map source offsets to target offsets',
    description:
      'Map every source offset to its target offset, from the backup and the batches on the target. It is exact for every record, and prints ranges without holes.',
    operands: [jobFileOperand],
    options: [restoreJob, restoreSet, topic, partition, offset],
    examples: [
      {
        command: 'kafka-backup offset-map --config restore.yaml --topic orders',
        meaning: 'map all offsets of a topic',
      },
      {
        command: 'kafka-backup offset-map --config restore.yaml --topic orders --partition 0 --offset 4711',
        meaning: 'map the offset of one record',
      },
    ],
    exits: '1 also if neither the record nor a later one is on the target',
    ...nothingChanged,
  },
  topicsCommand,
  offsetsCommand,
  schemasCommand,
  registryCommand,
  keyCommand,
  operatorCommand,
  crdsCommand,
  kubectlCommand,
  completionCommand,
]
