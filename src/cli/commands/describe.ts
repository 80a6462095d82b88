import type {
  DescribedAccess,
  DescribedGroups,
  DescribedRegistry,
  DescribedTopic,
  Description,
} from '../../archive/describe.ts'
import { describeDrills, failedDrillOf } from '../../archive/drill-record.ts'
import type { SectionName } from '../../archive/registry-section.ts'
import { damageOf, describeVerifications } from '../../archive/verification.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatFields, formatTable } from '../table.ts'
import { formatInstant, formatRatio, formatTimestamp, plural, printable } from '../text.ts'
import { withBackup } from './backups-at.ts'
import { formatGaps, formatWarnings, gapTitle } from './gap-table.ts'
import { choiceOf } from './generation-choice.ts'

export async function run(session: Session): Promise<number> {
  const choice = choiceOf(session.options)
  return withBackup(session, async (storage, backupId) => {
    const description = await session.actions.describeBackup(storage, backupId, choice, session.signal)
    session.outcome.note({ generation: description.generation, warnings: description.warnings.length })
    await session.printLong(
      () => formatDescription(description, session.clock.now(), session.style),
      () => description,
    )
    return 0
  })
}

function formatDescription(description: Description, nowMs: number, style: OutputStyle): string[] {
  const { topics } = description
  const gaps = topics.flatMap(({ name, gaps }) => gaps.map(gap => ({ topic: name, ...gap })))
  return [
    ...formatHead(description, nowMs, style),
    ...(topics.length === 0 ? [] : ['', ...formatTopics(topics, style)]),
    ...formatWindows(topics, style),
    ...formatSettings(topics, style),
    ...formatSubjects(description.schema_registry, style),
    ...formatGaps(gapTitle('lost at the source before they could be copied', gaps), gaps, style),
    ...formatWarnings(description.warnings, style),
  ]
}

function formatHead(description: Description, nowMs: number, style: OutputStyle): string[] {
  const { cluster, selection, totals, generation, generations } = description
  const isOfSchemas = selection.include.length === 0
  const before = generations.filter(one => one < generation).length
  const after = generations.filter(one => one > generation).length
  const others = [
    ...(before > 0 ? [`, ${plural(before, 'earlier generation')} kept`] : []),
    ...(after > 0 ? [`, ${plural(after, 'later one')}`] : []),
  ]
  const excluded = selection.exclude.length > 0 ? `, without ${selection.exclude.join(', ')}` : ''
  const stored = `${formatBytes(totals.stored_bytes)} stored (${formatRatio(totals.bytes, totals.stored_bytes)})`
  const paintIf = (isBad: boolean) => (isBad ? style.bad : (text: string) => text)
  return formatFields(
    [
      ['Backup', description.backup_id, style.bold],
      ['Location', description.location],
      ['State', description.complete ? 'complete' : 'incomplete', description.complete ? style.good : style.warn],
      ['Generation', `${generation}${others.join('')}`],
      ['Created', `${formatInstant(description.created_at)}, begun ${formatInstant(description.started_at)}`],
      ['Verified', printable(describeVerifications(description, nowMs)), paintIf(damageOf(description) !== undefined)],
      ['Drilled', printable(describeDrills(description, nowMs)), paintIf(failedDrillOf(description) !== undefined)],
      ['Restorable', restorableOf(description.topics)],
      [
        'Cluster',
        isOfSchemas ? 'none yet: only schemas' : `${cluster.id ?? 'unnamed'}, ${plural(cluster.brokers, 'broker')}`,
      ],
      ['Selection', isOfSchemas ? undefined : `${selection.include.join(', ')}${excluded}`],
      [
        'Holds',
        `${plural(totals.topics, 'topic')}, ${plural(totals.partitions, 'partition')}, ${plural(totals.records, 'record')}`,
      ],
      ['Schemas', aged(schemasOf(description.schema_registry), description, 'schema_registry')],
      ['Groups', aged(groupsOf(description.consumer_groups), description, 'consumer_groups')],
      ['Access', aged(accessOf(description.access), description, 'access')],
      ['Size', `${formatBytes(totals.bytes)}, ${stored}`],
      ['By name', byNameOf(description.topics)],
      ['Encrypted', encryptionOf(description.encryption)],
      ['Written by', `kafka-backup ${description.tool_version}, format ${description.format_version}`],
    ],
    style,
  )
}

function formatTopics(topics: readonly DescribedTopic[], style: OutputStyle): string[] {
  return formatTable<DescribedTopic>(
    [
      { title: 'TOPIC', cell: topicName, shrinks: true, paint: text => style.bold(text) },
      { title: 'PARTITIONS', dropAs: 2, align: 'right', cell: topic => formatCount(topic.partition_count) },
      { title: 'RECORDS', align: 'right', cell: topic => formatCount(topic.records) },
      { title: 'BYTES', align: 'right', cell: topic => formatBytes(topic.bytes) },
      { title: 'STORED', dropAs: 4, align: 'right', cell: topic => formatBytes(topic.stored_bytes) },
      { title: 'RATIO', dropAs: 6, align: 'right', cell: topic => formatRatio(topic.bytes, topic.stored_bytes) },
      { title: 'FIRST', dropAs: 5, cell: topic => formatTimestamp(topic.first_timestamp) },
      { title: 'LAST', dropAs: 3, cell: topic => formatTimestamp(topic.last_timestamp) },
      {
        title: 'GAPS',
        align: 'right',
        cell: topic => (topic.gaps.length === 0 ? '-' : formatCount(topic.gaps.length)),
        paint: text => (text === '-' ? text : style.warn(text)),
      },
    ],
    topics,
    style,
  )
}

/** Topics that old brokers served by name; docs/kafka-versions.md has what that means. */
function byNameOf(topics: readonly DescribedTopic[]): string | undefined {
  const read = topics.filter(({ read_by }) => read_by === 'name').length
  const named = topics.filter(({ id_source }) => id_source === 'name').length
  if (read + named === 0) return undefined
  return `${plural(read, 'topic')} read by name, ${named} without an ID of the cluster`
}

/** The window of the topics that are there for longest. */
function restorableOf(topics: readonly DescribedTopic[]): string | undefined {
  const widest = widestOf(topics)
  if (!widest) return undefined
  return `${formatPoint(widest.oldest)} to ${formatPoint(widest.newest)}`
}

type Window = NonNullable<DescribedTopic['recovery_window']>

function widestOf(topics: readonly DescribedTopic[]): Window | undefined {
  const windows = topics.flatMap(({ recovery_window }) => recovery_window ?? [])
  return windows.reduce<Window | undefined>(
    (widest, one) => (widest && widest.oldest.generation <= one.oldest.generation ? widest : one),
    undefined,
  )
}

function formatPoint({ generation, created_at }: Window['oldest']): string {
  return `${formatInstant(created_at)} (generation ${generation})`
}

/** Topics that came later than others, or that no complete generation holds. */
function formatWindows(topics: readonly DescribedTopic[], style: OutputStyle): string[] {
  const first = widestOf(topics)?.oldest.generation
  const later = topics.filter(({ recovery_window }) => recovery_window?.oldest.generation !== first)
  if (later.length === 0) return []
  const rows = formatTable<DescribedTopic>(
    [
      { title: 'TOPIC', cell: topicName, shrinks: true, paint: text => style.bold(text) },
      {
        title: 'RESTORABLE FROM',
        cell: ({ recovery_window: window }) => (window ? formatPoint(window.oldest) : 'no complete generation yet'),
      },
    ],
    later,
    style,
  )
  return ['', ...rows]
}

function topicName({ selector, state }: DescribedTopic): string {
  return state === 'current' ? selector : `${selector} (${state})`
}

function formatSettings(topics: readonly DescribedTopic[], style: OutputStyle): string[] {
  const lines = topics.flatMap(topic => {
    const settings = [...Object.entries(topic.configs), ...inheritedPolicy(topic)].map(
      ([name, value]) => `    ${printable(name)} = ${printable(value)}`,
    )
    return settings.length === 0 ? [] : [`  ${style.bold(printable(topicName(topic)))}`, ...settings]
  })
  return lines.length === 0 ? [] : ['', 'Settings that differ from the default', ...lines]
}

/** The cleanup policy, which a restore and a prune depend on, even if it is a broker default. */
function inheritedPolicy({ configs, effective_configs }: DescribedTopic): [string, string][] {
  const policy = effective_configs?.['cleanup.policy']
  if (policy === undefined || policy === 'delete' || 'cleanup.policy' in configs) return []
  return [['cleanup.policy', `${policy} (default of the source's brokers)`]]
}

function schemasOf({ enabled, subjects_count, schemas_count }: DescribedRegistry): string | undefined {
  return enabled ? `${plural(subjects_count, 'subject')}, ${plural(schemas_count, 'version')}` : undefined
}

/** A section that is older than the records says so. */
function aged(text: string | undefined, description: Description, section: SectionName): string | undefined {
  const { taken_at } = description[section]
  if (text === undefined || taken_at === null || !description.carried_sections.includes(section)) return text
  return `${text}, read ${formatInstant(taken_at)}`
}

function encryptionOf(encryption: Description['encryption']): string | undefined {
  if (!encryption) return undefined
  const { cipher, data_key, hide_names } = encryption
  return `${cipher}, data key ${data_key}${hide_names ? ', names hidden' : ''}`
}

function groupsOf({ state, groups, positions, errors, error }: DescribedGroups): string | undefined {
  if (state === 'none') return undefined
  if (state === 'off') return 'not backed up (backup.consumer_groups)'
  if (state === 'failed') return `could not be listed: ${printable(error ?? '')}`
  const unread = errors === 0 ? '' : `, ${formatCount(errors)} could not be read`
  return `${plural(groups, 'consumer group')}, ${plural(positions, 'committed offset')}${unread}`
}

const accessWords = { acls: 'ACL', quotas: 'quota', users: 'user' } as const

function accessOf(access: DescribedAccess): string | undefined {
  const parts = (['acls', 'quotas', 'users'] as const)
    .filter(kind => access[kind].state !== 'off')
    .map(kind => {
      const { state, count, error } = access[kind]
      return state === 'taken' ? plural(count, accessWords[kind]) : `no ${kind}: ${printable(error ?? '')}`
    })
  return parts.length === 0 ? undefined : parts.join(', ')
}

function formatSubjects({ subjects }: DescribedRegistry, style: OutputStyle): string[] {
  if (subjects.length === 0) return []
  const rows = formatTable<DescribedRegistry['subjects'][number]>(
    [
      { title: 'SUBJECT', cell: subject => subject.name, shrinks: true, paint: text => style.bold(text) },
      { title: 'VERSIONS', align: 'right', cell: subject => formatCount(subject.versions) },
      // IDs have no thousands separators.
      { title: 'LATEST ID', align: 'right', cell: subject => String(subject.latest_id ?? '-') },
    ],
    subjects,
    style,
  )
  return ['', ...rows]
}
