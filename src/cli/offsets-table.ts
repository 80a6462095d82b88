import { strategies } from '../offsets/strategies.ts'
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
    description: 'the cluster, without security; several brokers with commas between them',
  },
  {
    ...config,
    description: 'a job file (YAML), whose source or target is the cluster and whose storage keeps the snapshots',
  },
  set,
  {
    ...path,
    description: 'where snapshots, and backups, are kept: a folder, a `file:///`, `s3://`, `az://` or `gs://` address',
  },
  keyFile,
  {
    name: 'file',
    value: { kind: 'file', label: 'file' },
    description: 'a file for the one snapshot, in place of `--snapshot-id`; it must not exist when one is taken',
  },
  {
    name: 'group',
    short: 'g',
    value: text('name'),
    description: 'the consumer group, or a pattern with * and ?; may be repeated',
    isRepeatable: true,
  },
  {
    ...topic,
    description:
      'only these topics: names, or patterns with * and ?, with commas between them; by the names at the source where positions come from there',
  },
  { ...partition, value: text('numbers'), description: 'only these partitions, with commas between them' },
  {
    name: 'strategy',
    value: { kind: 'choice', label: 'strategy', choices: strategies },
    description: 'where the positions come from; docs/offsets.md explains each',
  },
  { name: 'timestamp', value: text('time'), description: 'for `timestamp`: ISO 8601 with a zone, or milliseconds' },
  { ...offset, description: 'for `offset`: the position to set' },
  {
    name: 'mapping',
    value: { kind: 'file', label: 'file' },
    description: 'for `from_mapping`: the output of `offset-map --format json`, or positions to set',
  },
  {
    name: 'from-snapshot',
    value: text('id'),
    description: 'for `header_based` and `from_mapping`: the snapshot that was taken at the source',
  },
  {
    ...backupId,
    description: 'for `from_backup`, or in place of `--from-snapshot`: the backup whose groups are meant',
  },
  {
    name: 'topic-mapping',
    value: text('source=target'),
    description: 'for `header_based`: a topic that was restored under another name; may be repeated',
    isRepeatable: true,
  },
  {
    name: 'since',
    value: text('time'),
    description: 'for `header_based`: no unread record is older; the search begins there',
  },
  { name: 'snapshot-id', value: text('id'), description: 'the snapshot to roll back to, to compare with or to delete' },
  {
    name: 'accept-plain-snapshot',
    description:
      'accepts a snapshot that is not encrypted although keys are given, such as one taken before encryption was set up',
  },
  { ...dryRun, description: 'for `reset` and `rollback`: shows what would be set and changes nothing' },
  { name: 'yes', short: 'y', description: 'for `reset`, `rollback` and `delete`: does not ask for confirmation' },
  { name: 'strict', description: 'for `verify`: a position that has gone on since is a difference, too' },
]

export const offsetsCommand: CommandSpec = {
  name: 'offsets',
  summary: 'show and set the positions of consumer groups, and take it back',
  description:
    'Lists groups with their lag, plans and makes resets, and rolls them back. `list`, `show`, `plan`, `script` and `verify` change nothing. `reset` and `rollback` show the plan, ask for confirmation (`--yes` skips that), and write a snapshot of the committed offsets first, which another rollback leads back to. Groups with active members are refused.',
  argument: { name: 'action', choices: offsetActions, description: 'what to do' },
  options,
  examples: [
    { command: 'kafka-backup offsets list --bootstrap-server kafka:9092', meaning: 'all groups with their lag' },
    {
      command: "kafka-backup offsets plan --config job.yaml --group 'billing-*' --strategy earliest",
      meaning: 'what a reset would set',
    },
    {
      command:
        'kafka-backup offsets reset --config job.yaml --group billing --topic orders --strategy timestamp --timestamp 2026-01-31T08:00:00Z',
      meaning: 'asks, then sets it, with a snapshot at the storage of the job',
    },
    {
      command:
        'kafka-backup offsets reset --config restore.yaml --group billing --strategy header_based --from-snapshot 20260131t080000z-1a2b3c4d --yes',
      meaning: 'after a restore: continues where the source was left',
    },
    {
      command: 'kafka-backup offsets script --config job.yaml --group billing --strategy latest > reset.sh',
      meaning: "the same as commands of Kafka's own tool",
    },
    {
      command: 'kafka-backup offsets snapshot --bootstrap-server kafka:9092 --path /backups',
      meaning: 'records the committed offsets of all groups',
    },
    {
      command: 'kafka-backup offsets rollback --config job.yaml --snapshot-id 20260131t080000z-1a2b3c4d --dry-run',
      meaning: 'shows the way back; without `--dry-run` it is taken',
    },
    {
      command: 'kafka-backup offsets verify --config job.yaml --snapshot-id 20260131t080000z-1a2b3c4d --strict',
      meaning: 'whether all groups have the same committed offsets',
    },
  ],
  exits:
    '1 when a group is active, or none could be set; 2 when there is no terminal to confirm on and `--yes` is missing: then nothing is changed; 3 when `verify` finds a difference or a snapshot is damaged; 4 when some groups or partitions could not be set; 130 or 143 when interrupted',
  onInterrupt:
    'Positions that were set stay set, and the snapshot of those before is kept; run the same command again, or roll back.',
}
