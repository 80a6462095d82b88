import { strategies } from '../offsets/reset-request.ts'
import type { CommandSpec } from './command-spec.ts'
import {
  backupId,
  config,
  dryRun,
  keyFile,
  type OptionSpec,
  offset,
  partition,
  path,
  set,
  topic,
} from './option-specs.ts'

export const offsetActions = [
  'list',
  'show',
  'plan',
  'reset',
  'script',
  'snapshot',
  'snapshots',
  'rollback',
  'verify',
  'delete',
] as const

export type OffsetAction = (typeof offsetActions)[number]

const text = (label: string) => ({ kind: 'text', label }) as const

const options: readonly OptionSpec[] = [
  {
    name: 'bootstrap-server',
    value: text('host:port'),
    description: 'bootstrap servers of the cluster, without security; separate several with commas',
  },
  {
    ...config,
    description: 'a job file (YAML) with the cluster as source or target, and the storage of the snapshots',
  },
  set,
  {
    ...path,
    description: 'location of snapshots and backups: a folder, or a `file:///`, `s3://`, `az://` or `gs://` URL',
  },
  keyFile,
  {
    name: 'file',
    value: { kind: 'file', label: 'file' },
    description: 'a file for one snapshot, instead of `--snapshot-id`; it must not exist when you take a snapshot',
  },
  {
    name: 'group',
    short: 'g',
    value: text('name'),
    description: 'the consumer group, or a pattern with * and ?; repeatable',
    isRepeatable: true,
  },
  {
    ...topic,
    description:
      'only these topics: names or patterns with * and ?, separated by commas; source names if the offsets come from the source',
  },
  { ...partition, value: text('numbers'), description: 'only these partitions, separated by commas' },
  {
    name: 'strategy',
    value: { kind: 'choice', label: 'strategy', choices: strategies },
    description: 'how to determine the new offsets; docs/offsets.md explains each strategy',
  },
  {
    name: 'timestamp',
    value: text('time'),
    description: 'for `timestamp`: ISO 8601 with a time zone, or milliseconds since 1970',
  },
  { ...offset, description: 'for `offset`: the offset to set' },
  {
    name: 'mapping',
    value: { kind: 'file', label: 'file' },
    description: 'for `from_mapping`: the output of `offset-map --format json`, or a file of offsets to set',
  },
  {
    name: 'from-snapshot',
    value: text('id'),
    description: 'for `header_based` and `from_mapping`: the snapshot taken at the source',
  },
  {
    ...backupId,
    description: 'for `from_backup`, or instead of `--from-snapshot`: the backup with the committed offsets',
  },
  {
    name: 'topic-mapping',
    value: text('source=target'),
    description: 'for `header_based`: a topic that was restored under another name; repeatable',
    isRepeatable: true,
  },
  {
    name: 'since',
    value: text('time'),
    description: 'for `header_based`: refuse the plan if an unread record is older',
  },
  {
    name: 'snapshot-id',
    value: text('id'),
    description: 'the snapshot to roll back to, to compare with, or to delete',
  },
  {
    name: 'snapshot-as',
    value: text('id'),
    description:
      'for `reset` and `rollback`: the ID of the snapshot to write; if it exists, an earlier attempt wrote it, and it is kept',
  },
  {
    name: 'accept-plain-snapshot',
    description:
      'accept an unencrypted snapshot although keys are configured, such as one taken before encryption was set up',
  },
  { ...dryRun, description: 'for `reset` and `rollback`: show the new offsets; change nothing' },
  { name: 'yes', short: 'y', description: 'for `reset`, `rollback` and `delete`: skip the confirmation' },
  { name: 'strict', description: 'for `verify`: also report committed offsets that have advanced' },
]

export const offsetsCommand: CommandSpec = {
  name: 'offsets',
  summary: 'show, reset and roll back consumer-group offsets',
  description:
    'List groups with their lag, plan and execute resets, and roll them back. `list`, `show`, `plan`, `script` and `verify` change nothing. `reset` and `rollback` show the plan, ask for confirmation (`--yes` skips it), and first write a snapshot of the committed offsets for a rollback. Groups with active members are refused.',
  argument: { name: 'action', choices: offsetActions, description: 'the action' },
  options,
  examples: [
    { command: 'kafka-backup offsets list --bootstrap-server kafka:9092', meaning: 'list all groups with their lag' },
    {
      command: "kafka-backup offsets plan --config job.yaml --group 'billing-*' --strategy earliest",
      meaning: 'show what a reset would set',
    },
    {
      command:
        'kafka-backup offsets reset --config job.yaml --group billing --topic orders --strategy timestamp --timestamp 2026-01-31T08:00:00Z',
      meaning: 'reset after a confirmation; the snapshot goes to the storage of the job',
    },
    {
      command:
        'kafka-backup offsets reset --config restore.yaml --group billing --strategy header_based --from-snapshot 20260131t080000z-1a2b3c4d --yes',
      meaning: 'after a restore: continue where the group stopped at the source',
    },
    {
      command: 'kafka-backup offsets script --config job.yaml --group billing --strategy latest > reset.sh',
      meaning: "print the reset as commands for Kafka's own tool",
    },
    {
      command: 'kafka-backup offsets snapshot --bootstrap-server kafka:9092 --path /backups',
      meaning: 'save the committed offsets of all groups',
    },
    {
      command: 'kafka-backup offsets rollback --config job.yaml --snapshot-id 20260131t080000z-1a2b3c4d --dry-run',
      meaning: 'show the rollback; without `--dry-run`, execute it',
    },
    {
      command: 'kafka-backup offsets verify --config job.yaml --snapshot-id 20260131t080000z-1a2b3c4d --strict',
      meaning: 'check that all groups have the same committed offsets',
    },
  ],
  exits:
    '1 if a group is active (also with `--dry-run`), if `list` or `show` could not read one, or if no group could be set; 2 without a terminal to confirm on and without `--yes`: nothing is changed; 3 if `verify` finds a difference or a snapshot is damaged; 4 if some groups or partitions could not be set (also with `--dry-run`), or `snapshot` could not read some; 130 or 143 if interrupted',
  onInterrupt:
    'Offsets that were set remain set; run the same command again, or roll back to the snapshot of the previous offsets if one was saved.',
  readOnlyActions: ['list', 'show', 'plan', 'script', 'snapshots', 'verify'],
}
