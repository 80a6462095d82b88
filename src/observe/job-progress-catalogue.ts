/** Every field of `/progress`, in its order; docs/metrics.md is generated from this table. */
export interface ProgressField {
  type: 'text' | 'integer' | 'number' | 'time'
  /** Null where it is not known, or means nothing to this job. */
  isNullable: boolean
  help: string
}

const text = (help: string) => ({ type: 'text', isNullable: false, help }) as const
const time = (help: string) => ({ type: 'time', isNullable: false, help }) as const
const count = (help: string) => ({ type: 'integer', isNullable: false, help }) as const
const planned = (help: string) => ({ type: 'integer', isNullable: true, help }) as const
const estimate = (help: string) => ({ type: 'number', isNullable: true, help }) as const

export const progressFields = {
  job: text('What runs: `backup`, `restore`, `verify`, `compare`, `schemas backup` or `schemas restore`.'),
  backup_id: text('The backup that it is about.'),
  version: text('The version of the program.'),
  phase: text(
    '`preparing` until there is a plan; then `copying`, `comparing` or `verifying`; `schemas` and `groups` while a restore brings these over; `waiting` and `retrying` between the rounds of a continuous run, the latter after one that failed.',
  ),
  fraction: estimate('How much of the plan is done, from 0 to 1. Each round of a continuous run has its own plan.'),
  records: count('Records that were copied, or compared, since the phase began.'),
  bytes: count('Their bytes; for `verify`, the bytes that were read.'),
  objects: count('Objects that `verify` has checked.'),
  planned_topics: planned('Topics of the plan.'),
  planned_partitions: planned('Partitions of the plan.'),
  planned_offsets: planned('Offsets to copy or to compare: at least as many as records, as there are holes.'),
  planned_records: planned('Records that a restore writes, about.'),
  planned_objects: planned('Objects that `verify` checks.'),
  planned_bytes: planned('Bytes that `verify` reads.'),
  schemas: planned('Versions of schemas that are registered.'),
  planned_schemas: planned('Versions of schemas to register.'),
  groups: planned('Consumer groups that have their positions.'),
  planned_groups: planned('Consumer groups to carry over.'),
  bytes_per_second: {
    type: 'number',
    isNullable: false,
    help: 'Over the last five seconds.',
  },
  remaining_seconds: estimate('At the present rate; null while nothing moves.'),
  last_round_at: {
    type: 'time',
    isNullable: true,
    help: 'When the last round of a continuous run ended well: all that was there when it began is committed.',
  },
  generation: planned('The newest generation of the backup that this run continues from or has committed.'),
  stored_bytes: planned(
    'What the whole backup occupies in the store, as a continuous run measured it: after its first round, then once an hour.',
  ),
  warnings: count('Warnings since the start.'),
  gaps: count('Ranges of offsets that the source lost before they were read, found since the start.'),
  retries: count('Requests that were made again after trouble.'),
  started_at: time('When the job began.'),
  last_event_at: time('When it last reported anything; a job that hangs does not.'),
} as const satisfies Record<string, ProgressField>

export type ProgressFieldName = keyof typeof progressFields
