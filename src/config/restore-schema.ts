import { restoreAccessFields } from './access-schema.ts'
import { camelKeys } from './camel-keys.ts'
import { restoreGroupsSchema } from './groups-schema.ts'
import { fields } from './leaf.ts'
import { placementFields } from './restore-placement.ts'
import { selectionFields } from './restore-selection.ts'
import { choice, duration, flag, integer, size } from './scalar-leaves.ts'
import { text } from './text-leaves.ts'
import { backupId } from './text-rules.ts'

const KiB = 2 ** 10
const MiB = 2 ** 20

const policyFields = {
  existing_topics: choice(['fail', 'append'], {
    description:
      'What happens when a topic of the target holds records that are not of this restore. `append` writes behind them.',
  }).prefault('fail'),
  retention: choice(['fail', 'hold', 'apply'], {
    description:
      'What happens when the retention of a topic would delete restored records at once, for their age. `hold` leaves ' +
      'its retention off until you set it, `apply` lets the records go.',
  }).prefault('fail'),
  offset_headers: flag({
    description:
      'Adds headers to each record that name where it came from: `x-original-topic`, `x-original-partition`, ' +
      '`x-original-offset`, `x-original-timestamp` and `x-source-cluster`.',
  }).prefault(false),
  consumer_groups: restoreGroupsSchema,
  ...restoreAccessFields,
  verify: flag({
    description:
      'Reads the target back and compares it with the backup when all is written, before settings that were held back ' +
      'are applied. Exit code 3 where something differs.',
  }).prefault(false),
}

const runFields = {
  restore_id: text(backupId, {
    description:
      'The name of this restore, under which an interrupted one is found again. Without it: made of the backup, the ' +
      'target cluster and the mapping.',
  }).exactOptional(),
  commit_interval: duration({
    description: 'How often the progress is recorded on the target.',
    min: '1s',
    max: '1h',
  }).prefault('5s'),
  batch_bytes: size({
    description: 'The size that small batches are merged to, since a request takes one batch a partition.',
    minBytes: 16 * KiB,
    maxBytes: 64 * MiB,
  }).prefault('1MiB'),
  rate_limit: size({
    description: 'The most bytes that are written to the cluster in a second, all connections together.',
    minBytes: 1024,
  }).exactOptional(),
  memory_budget: size({ description: 'Memory for the buffers of restored data.', minBytes: 32 * MiB }).prefault(
    '96MiB',
  ),
  connections_per_broker: integer({
    description: 'Connections that write to one broker at the same time.',
    min: 1,
    max: 16,
  }).prefault(2),
}

export const restoreSchema = fields({ ...selectionFields, ...placementFields, ...policyFields, ...runFields })
  .transform(restore =>
    camelKeys(restore, {
      time_window_start: 'timeWindowStartMs',
      time_window_end: 'timeWindowEndMs',
      commit_interval: 'commitIntervalMs',
      memory_budget: 'memoryBudgetBytes',
      rate_limit: 'bytesPerSecond',
    }),
  )
  .meta({ description: 'What is restored, to where on the target, and how.' })
  .prefault({})
