import type { GenerationDiff } from '../../archive/diff-generations.ts'
import type { AccessDiff, NameDiff } from '../../archive/diff-sections.ts'
import type { PartitionDiff, Step, TopicDiff } from '../../archive/diff-topics.ts'
import { usageError } from '../../errors.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatFields, formatTable } from '../table.ts'
import { formatInstant, plural, printable } from '../text.ts'
import { withBackup } from './backups-at.ts'
import { formatWarnings } from './gap-table.ts'
import { parseGeneration } from './generation-choice.ts'

const MAX_ROWS = 40
const MAX_NAMES = 10

export async function run(session: Session): Promise<number> {
  const from = parseGeneration('--from', session.options.from)
  const to = parseGeneration('--to', session.options.to)
  if (from === undefined) throw usageError('pass --from, the earlier generation')
  return withBackup(session, async (storage, backupId) => {
    const diff = await session.actions.diffGenerations(storage, backupId, { from, to }, session.signal)
    session.outcome.note({ warnings: diff.warnings.length })
    session.print(
      () => formatDiff(diff, session.style),
      () => diff,
    )
    return 0
  })
}

function formatDiff(diff: GenerationDiff, style: OutputStyle): string[] {
  const { topics } = diff
  return [
    ...formatHead(diff, style),
    ...formatTopics(topics, style),
    ...formatPartitions(topics, style),
    ...formatSettings(topics, style),
    ...formatWarnings(diff.warnings, style),
  ]
}

function formatHead(diff: GenerationDiff, style: OutputStyle): string[] {
  const { from, to, schema_registry: schemas, consumer_groups: groups } = diff
  const side = ({ generation, created_at, complete }: GenerationDiff['from']) =>
    `generation ${generation}, ${formatInstant(created_at)}, ${complete ? 'complete' : 'incomplete'}`
  const records = { from: from.records, to: to.records }
  const bytes = { from: from.bytes, to: to.bytes }
  const wasEnabled = schemas.enabled.from === schemas.enabled.to ? '' : schemas.enabled.to ? 'added: ' : 'removed: '
  const settings = schemas.settings_changed ? ['settings of the registry changed'] : []
  return formatFields(
    [
      ['Backup', diff.backup_id, style.bold],
      ['From', side(from)],
      ['To', side(to)],
      ['Result', diff.equal ? 'the same content' : 'different', diff.equal ? style.good : style.warn],
      ['Records', `${formatCount(from.records)} to ${formatCount(to.records)} (${signed(records)})`],
      ['Size', `${formatBytes(from.bytes)} to ${formatBytes(to.bytes)} (${signedBytes(bytes)})`],
      ['Selection', diff.selection_changed ? 'changed' : undefined],
      ['Schemas', joined([...names(schemas, 'subject'), ...settings], wasEnabled)],
      ['Groups', joined(names(groups, 'group'), formatState(groups.state))],
      ['Access', formatAccess(diff.access)],
    ],
    style,
  )
}

function joined(parts: readonly string[], before: string): string | undefined {
  const text = `${before}${parts.join('; ')}`
  return text === '' ? undefined : text
}

function names({ added, removed, changed }: NameDiff, noun: string): string[] {
  const all = [
    ['added', added],
    ['removed', removed],
    ['changed', changed],
  ] as const
  return all.flatMap(([what, list]) => {
    if (list.length === 0) return []
    const shown = list.slice(0, MAX_NAMES).map(printable).join(', ')
    const more = list.length > MAX_NAMES ? `, and ${formatCount(list.length - MAX_NAMES)} more` : ''
    return [`${plural(list.length, noun)} ${what} (${shown}${more})`]
  })
}

function formatState({ from, to }: Step<string>): string {
  return from === to ? '' : `${from} before, ${to} now; `
}

const accessWords = { acls: 'ACL', quotas: 'quota', users: 'user' } as const

function formatAccess(access: AccessDiff): string | undefined {
  const parts = (['acls', 'quotas', 'users'] as const).flatMap(kind => {
    const { state, added, removed } = access[kind]
    return [
      ...(state.from === state.to ? [] : [`${kind}: ${state.from} before, ${state.to} now`]),
      ...(added > 0 ? [`${plural(added, accessWords[kind])} added`] : []),
      ...(removed > 0 ? [`${plural(removed, accessWords[kind])} removed`] : []),
    ]
  })
  return joined(parts, '')
}

function formatTopics(topics: readonly TopicDiff[], style: OutputStyle): string[] {
  if (topics.length === 0) return []
  const rows = formatTable<TopicDiff>(
    [
      { title: 'TOPIC', cell: one => one.selector, shrinks: true, paint: text => style.bold(text) },
      { title: 'CHANGE', cell: one => one.change, paint: (text, one) => paintChange(text, one, style) },
      { title: 'PARTITIONS', dropAs: 1, align: 'right', cell: one => formatCount(one.partitions.length) },
      { title: 'RECORDS', align: 'right', cell: one => signed(one.records) },
      { title: 'BYTES', align: 'right', cell: one => signedBytes(one.bytes) },
      { title: 'GAPS', align: 'right', cell: one => gapSteps(one.partitions) },
    ],
    topics,
    style,
  )
  return ['', ...rows]
}

/** `+2 -1`: two gaps that only the later generation has, and one that only the earlier one has. */
function gapSteps(partitions: readonly PartitionDiff[]): string {
  const sum = (field: 'new_gaps' | 'closed_gaps') => partitions.reduce((total, one) => total + one[field].length, 0)
  const [added, closed] = [sum('new_gaps'), sum('closed_gaps')]
  const steps = [...(added > 0 ? [`+${formatCount(added)}`] : []), ...(closed > 0 ? [`-${formatCount(closed)}`] : [])]
  return steps.length === 0 ? '-' : steps.join(' ')
}

function paintChange(text: string, { change }: TopicDiff, style: OutputStyle): string {
  return change === 'changed' || change === 'added' || change === 'returned' ? text : style.warn(text)
}

function formatPartitions(topics: readonly TopicDiff[], style: OutputStyle): string[] {
  const all = topics.flatMap(({ selector, partitions }) => partitions.map(one => ({ selector, ...one })))
  if (all.length === 0) return []
  const rows = formatTable<PartitionDiff & { selector: string }>(
    [
      { title: 'PARTITION', cell: one => `${one.selector}/${one.partition}`, shrinks: true },
      { title: 'CHANGE', cell: one => one.change },
      { title: 'START', dropAs: 1, align: 'right', cell: one => formatOffset(one.start_offset) },
      { title: 'END', align: 'right', cell: one => formatOffset(one.end_offset) },
      { title: 'RECORDS', align: 'right', cell: one => signed(one.records) },
      { title: 'BYTES', align: 'right', cell: one => signedBytes(one.bytes) },
      { title: 'GAPS', dropAs: 2, align: 'right', cell: one => gapSteps([one]) },
    ],
    all.slice(0, MAX_ROWS),
    style,
  )
  const left = all.length - MAX_ROWS
  return ['', ...rows, ...(left > 0 ? [`and ${formatCount(left)} more; --format json shows all of them`] : [])]
}

function formatSettings(topics: readonly TopicDiff[], style: OutputStyle): string[] {
  const lines = topics.flatMap(({ selector, settings }) =>
    settings.length === 0
      ? []
      : [
          `  ${style.bold(printable(selector))}`,
          ...settings.map(({ name, from, to }) => `    ${printable(name)}: ${formatValue(from)} to ${formatValue(to)}`),
        ],
  )
  return lines.length === 0 ? [] : ['', 'Settings', ...lines]
}

function formatValue(value: string | null): string {
  return value === null ? '(default)' : printable(value)
}

function formatOffset({ from, to }: Step<bigint>): string {
  return from === to ? String(to) : `${from} to ${to}`
}

function signed({ from, to }: Step<number>): string {
  if (from === to) return '0'
  return to > from ? `+${formatCount(to - from)}` : `-${formatCount(from - to)}`
}

function signedBytes({ from, to }: Step<number>): string {
  if (from === to) return '0 B'
  return to > from ? `+${formatBytes(to - from)}` : `-${formatBytes(from - to)}`
}
