import { stringify } from 'yaml'
import { formatBytes, formatCount } from '../lib/units.ts'
import type { Connection } from './connection.ts'
import type { Schedule } from './propose-schedule.ts'
import type { SurveyedTopic, TopicProposal } from './propose-topics.ts'

export interface PlannedJob {
  backupId: string
  connection: Connection
  topics: Pick<TopicProposal, 'include' | 'exclude'> & Partial<Pick<TopicProposal, 'reasons'>>
  /** The section `storage`. */
  storage: Record<string, unknown>
  schedule: Schedule
  /** Those that are taken; undefined where the cluster was not asked. */
  taken?: readonly SurveyedTopic[] | undefined
  /** The job of another program that this one is translated from. */
  origin?: JobOrigin
}

export interface JobOrigin {
  file: string
  /** Fields that have no counterpart or another meaning. */
  notes: readonly string[]
  /** More fields of the section `backup` or `restore`. */
  options: Record<string, unknown>
  metrics?: Record<string, unknown> | undefined
}

/** Pure. The job file as text, with a comment for each decision. It holds the names of secrets, and no secret. */
export function formatJob(job: PlannedJob): string {
  const { backupId, connection, topics, storage, schedule, origin } = job
  return [
    ...comment(`Backup job of kafka-backup, written by \`kafka-backup init\`.${describeTaken(job.taken)}`),
    ...comment('docs/configuration.md explains all fields. After a change, run: kafka-backup check <this file>'),
    ...formatOrigin(origin),
    ...yaml({ mode: 'backup' }),
    ...comment('Runs with the same name continue the same backup; another name starts another backup.'),
    ...yaml({ backup_id: backupId }),
    '',
    'source:',
    ...yaml({ bootstrap_servers: connection.bootstrapServers }, 1),
    ...(connection.clientId === undefined ? [] : yaml({ client_id: connection.clientId }, 1)),
    ...formatSecurity(connection),
    ...formatTopics(topics),
    '',
    ...comment('Where the backup is stored. Credentials of buckets come from the environment: docs/storage.md.'),
    ...yaml({ storage }),
    '',
    ...formatSchedule(schedule, origin?.options ?? {}),
    ...(origin?.metrics ? yaml({ metrics: origin.metrics }) : []),
    ...formatMonitoring(schedule),
    ...suggestions,
    '',
  ].join('\n')
}

function describeTaken(taken: readonly SurveyedTopic[] | undefined): string {
  if (!taken) return ''
  const bytes = taken.reduce((sum, one) => sum + (one.bytes ?? 0), 0)
  const size = taken.some(one => one.bytes !== null) ? `, ${formatBytes(bytes)} on the brokers` : ''
  return ` At that time: ${formatCount(taken.length)} topic${taken.length === 1 ? '' : 's'}${size}.`
}

export function formatSecurity({ security, secrets, notes }: Connection): string[] {
  return [
    ...notes.flatMap(note => comment(note, 1)),
    ...secrets.flatMap(({ variable, origin }) => comment(`Set ${variable}: ${origin}.`, 1)),
    ...(security ? yaml({ security }, 1) : []),
  ]
}

function formatTopics({ include, exclude, reasons = [] }: PlannedJob['topics']): string[] {
  return [
    '  topics:',
    ...comment(
      '`*` selects all topics, also future ones. Internal topics and those of a schema registry must be named.',
      2,
    ),
    ...yaml({ include }, 2),
    ...reasons
      .filter(({ pattern }) => exclude.includes(pattern))
      .flatMap(({ pattern, reason, topics }) => comment(`${pattern}: ${reason} (${formatCount(topics)}).`, 2)),
    ...yaml({ exclude }, 2),
  ]
}

function formatSchedule({ continuous, cron, text }: Schedule, options: Record<string, unknown>): string[] {
  if (continuous) {
    return [
      ...comment('The backup follows the cluster until it is stopped, and commits every commit_interval.'),
      ...yaml({ backup: { continuous: true, commit_interval: '1m', ...options } }),
    ]
  }
  const own = Object.keys(options).length > 0 ? yaml({ backup: options }) : []
  if (cron === undefined) return [...comment('Each run copies what is new. No schedule was chosen.'), ...own]
  return [
    ...comment(`Each run copies what is new. Schedule (${text}), as a line for crontab:`),
    ...comment(`  ${cron} kafka-backup backup <this file>`),
    ...own,
  ]
}

function formatMonitoring({ intervalMs }: Schedule): string[] {
  if (intervalMs === undefined) return []
  const minutes = Math.round(intervalMs / 60_000)
  return [
    '',
    ...comment('`kafka-backup status --config <this file>` reports the backup as late or stale by this interval.'),
    ...yaml({ monitoring: { expected_interval: minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m` } }),
  ]
}

const suggestions = [
  '',
  '# More that most backups need; remove the `# ` to use it:',
  '#',
  '# retention:                     # docs/retention.md: what `kafka-backup prune` keeps',
  '#   generations:',
  '#     keep_daily: 14',
  '# encryption:                    # docs/encryption.md: create the key with `kafka-backup key new --out key`',
  '#   recipients:',
  '#     - key_file: /etc/kafka-backup/key',
  '# enterprise:                    # docs/registries.md: schemas are backed up with the records',
  '#   schema_registry:',
  '#     enabled: true',
  '#     url: http://registry:8081',
]

/** What the job that was translated says and this one does not. */
export function formatOrigin(origin: JobOrigin | undefined): string[] {
  if (!origin) return []
  const { file, notes } = origin
  return [
    ...comment(`Translated from ${file}, a job of OSO kafka-backup. Check each of these fields:`),
    ...notes.flatMap(note => comment(`- ${note}`)),
  ]
}

/** Names from files and clusters stay on their line. */
export function comment(text: string, depth = 0): string[] {
  return text.split(/[\r\n]+/).map(line => `${'  '.repeat(depth)}# ${line}`)
}

export function yaml(tree: unknown, depth = 0): string[] {
  const text = stringify(tree, { lineWidth: 0, defaultStringType: 'PLAIN', flowCollectionPadding: false })
  return text
    .trimEnd()
    .split('\n')
    .map(line => `${'  '.repeat(depth)}${line}`)
}
