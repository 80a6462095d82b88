import { backupAccessFields } from './access-schema.ts'
import { camelKeys } from './camel-keys.ts'
import { backupGroupsSchema } from './groups-schema.ts'
import { fields } from './leaf.ts'
import { choice, duration, flag, integer, size } from './scalar-leaves.ts'

const MiB = 2 ** 20

export const backupSchema = fields({
  compression: choice(['auto', 'none', 'zstd'], {
    description:
      'How segments are stored. `auto` keeps batches that a producer compressed as they are and compresses the rest; ' +
      '`zstd` compresses every segment; `none` stores the bytes the broker sent.',
  }).prefault('auto'),
  segment_bytes: size({
    description: 'The size at which a segment is closed and the next one begun.',
    minBytes: MiB,
    maxBytes: 4096 * MiB,
  }).prefault('128MiB'),
  missing_topics: choice(['fail', 'warn'], {
    description: 'What happens when a name of `source.topics.include` without wildcards is not a topic of the cluster.',
  }).prefault('fail'),
  on_gap: choice(['warn', 'fail'], {
    description:
      'What happens when records expired at the source before they were read. The manifest lists the gap either way; ' +
      '`fail` ends the run with exit code 4.',
  }).prefault('warn'),
  on_truncation: choice(['fail', 'new_incarnation'], {
    description:
      'What happens when the source lost records that the backup holds, as after a rollback to a volume snapshot or an ' +
      'unclean leader election. `fail` refuses to mix two histories; `new_incarnation` keeps what is stored as an older ' +
      'incarnation of the topic and copies the topic again from its log start.',
  }).prefault('fail'),
  compacted_reread: choice(['auto', 'never', 'always'], {
    description:
      'When partitions of compacted topics are read again from the start of their logs. `auto` where tombstones may have ' +
      'been removed since the last run, so that keys which were deleted at the source would come back with a restore, and ' +
      'where the backup holds more than twice what the source holds; `always` in every run; `never` keeps such keys, with a ' +
      'warning.',
  }).prefault('auto'),
  compacted_reread_interval: duration({
    description:
      'How long a continuous run waits at least after it began to read a compacted partition from its start before it ' +
      'does so again.',
    min: '1s',
    max: '365d',
  }).prefault('1h'),
  consumer_groups: backupGroupsSchema,
  ...backupAccessFields,
  commit_interval: duration({
    description:
      'How often a long run commits what it has. After a crash, the next run copies again what was not committed. For a ' +
      'continuous run also how often it looks for what is new.',
    min: '1s',
    max: '7d',
  }).prefault('60s'),
  poll_interval: duration({
    description:
      'How often a continuous run reads the schema registry, consumer groups, topic settings, ACLs, quotas and users. ' +
      'Rounds in between carry what was read last.',
    min: '1s',
    max: '7d',
  }).prefault('60s'),
  merge_after: duration({
    description:
      'How long a continuous run keeps small appends as pieces of objects that they share with other partitions. Then they ' +
      'become segments, whatever their size.',
    min: '1m',
    max: '365d',
  }).prefault('24h'),
  lease_duration: duration({
    description:
      'How long a run counts as alive after it last renewed its lease. A second run of the same `backup_id` waits for ' +
      'at most this long: it starts when the first has ended or died, and is refused when the first renews its lease.',
    min: '5s',
    max: '1h',
  }).prefault('2m'),
  continuous: flag({
    description:
      'Run until stopped: copy and commit what is new every `commit_interval`. New topics and partitions ' +
      'that appear are taken in.',
  }).prefault(false),
  rate_limit: size({
    description: 'The most bytes that are read from the cluster in a second, all connections together.',
    minBytes: 1024,
  }).exactOptional(),
  memory_budget: size({ description: 'Memory for the buffers of fetched data.', minBytes: 32 * MiB }).prefault('96MiB'),
  connections_per_broker: integer({
    description: 'Connections that fetch from one broker at the same time.',
    min: 1,
    max: 16,
  }).prefault(2),
})
  .transform(backup =>
    camelKeys(backup, {
      commit_interval: 'commitIntervalMs',
      poll_interval: 'pollIntervalMs',
      merge_after: 'mergeAfterMs',
      lease_duration: 'leaseDurationMs',
      compacted_reread_interval: 'compactedRereadIntervalMs',
      memory_budget: 'memoryBudgetBytes',
      rate_limit: 'bytesPerSecond',
    }),
  )
  .meta({ description: 'How the backup is made.' })
  .prefault({})
