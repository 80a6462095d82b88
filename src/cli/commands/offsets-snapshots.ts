import { detailsField } from '../../errors.ts'
import { formatCount } from '../../lib/units.ts'
import type { ComparedPosition, SnapshotComparison } from '../../offsets/compare-snapshot.ts'
import type { OffsetSnapshot } from '../../offsets/snapshot.ts'
import type { ListedSnapshot } from '../../offsets/snapshot-book.ts'
import type { OutputStyle } from '../output-style.ts'
import { formatTable } from '../table.ts'
import { formatInstant, plural, printable } from '../text.ts'

export function formatTaken(snapshot: OffsetSnapshot, style: OutputStyle): string[] {
  const errors = snapshot.groups.flatMap(({ group, error }) =>
    error === undefined ? [] : [`  ${printable(group)}: ${printable(error)}`],
  )
  const { groups, positions } = sizeOf(snapshot)
  return [
    `snapshot ${style.bold(snapshot.snapshot_id)}: ${plural(positions, 'committed offset')} of ${plural(groups, 'group')}`,
    ...(errors.length > 0 ? ['', style.bad('Groups that could not be read'), ...errors] : []),
  ]
}

export function formatSnapshots(listed: readonly ListedSnapshot[], location: string, style: OutputStyle): string[] {
  if (listed.length === 0) return [`There are no offset snapshots at ${printable(location)}.`]
  const of = (pick: (snapshot: OffsetSnapshot) => string) => (one: ListedSnapshot) =>
    one.snapshot ? pick(one.snapshot) : '-'
  const errors = listed.flatMap(one => (one.error && !lacksKey(one) ? [`  ${printable(one.error.message)}`] : []))
  return [
    ...formatTable<ListedSnapshot>(
      [
        { title: 'SNAPSHOT', cell: one => one.snapshotId, paint: text => style.bold(text) },
        { title: 'CREATED', cell: of(one => formatInstant(one.created_at)) },
        { title: 'TAKEN FOR', cell: one => one.snapshot?.reason ?? (lacksKey(one) ? 'no key' : 'UNREADABLE') },
        { title: 'GROUPS', align: 'right', cell: of(one => formatCount(sizeOf(one).groups)) },
        { title: 'POSITIONS', dropAs: 1, align: 'right', cell: of(one => formatCount(sizeOf(one).positions)) },
        { title: 'ENCRYPTED', dropAs: 3, cell: encryptedWord },
        { title: 'CLUSTER', dropAs: 2, cell: of(one => one.cluster_id ?? '-'), shrinks: true },
      ],
      listed,
      style,
    ),
    ...(errors.length > 0 ? ['', style.bad('Could not be read'), ...errors] : []),
  ]
}

/** Jobs with other keys share the folder, so a snapshot without a key is not damaged. */
export function lacksKey({ error }: ListedSnapshot): boolean {
  return error?.code === 'ENCRYPTION_KEY'
}

function encryptedWord(one: ListedSnapshot): string {
  if (one.snapshot) return one.isEncrypted ? 'yes' : 'no'
  return lacksKey(one) ? 'yes' : '-'
}

export function formatComparison(comparison: SnapshotComparison, style: OutputStyle): string[] {
  const { snapshotId, isStrict, ok, groups } = comparison
  const rows = groups.flatMap(({ group, positions }) => positions.map(one => ({ group, ...one })))
  const changed = rows.filter(({ change }) => change !== 'same')
  const verdict = ok ? style.good(isStrict ? 'the same' : 'equal or ahead') : style.bad('DIFFERENT')
  const errors = groups.flatMap(({ group, error }) =>
    error === undefined ? [] : [`  ${printable(group)}: ${printable(error)}`],
  )
  const table = formatTable<ComparedPosition & { group: string }>(
    [
      { title: 'GROUP', cell: row => row.group, shrinks: true },
      { title: 'TOPIC', cell: row => row.topic, shrinks: true },
      { title: 'PARTITION', align: 'right', cell: row => String(row.partition) },
      { title: 'SNAPSHOT', align: 'right', cell: row => String(row.was ?? 'none') },
      { title: 'NOW', align: 'right', cell: row => String(row.is ?? 'none') },
      { title: 'CHANGE', cell: row => row.change },
    ],
    changed,
    style,
  )
  return [
    `snapshot ${style.bold(printable(snapshotId))}: ${verdict}`,
    `  ${plural(rows.length, 'committed offset')} of ${plural(groups.length, 'group')}, ${formatCount(changed.length)} different`,
    ...(changed.length > 0 ? ['', ...table] : []),
    ...(errors.length > 0 ? ['', style.bad('Groups that cannot be compared'), ...errors] : []),
  ]
}

function sizeOf({ groups }: OffsetSnapshot): { groups: number; positions: number } {
  return { groups: groups.length, positions: groups.reduce((sum, { positions }) => sum + positions.length, 0) }
}

export function snapshotsDocument(listed: readonly ListedSnapshot[]) {
  return {
    snapshots: listed.map(({ snapshotId, key, snapshot, isEncrypted, error }) => ({
      snapshot_id: snapshotId,
      key,
      ...(snapshot && {
        created_at: snapshot.created_at,
        reason: snapshot.reason,
        cluster_id: snapshot.cluster_id,
        encrypted: isEncrypted ?? false,
        ...sizeOf(snapshot),
      }),
      ...(error && { error: { code: error.code, message: error.message, ...detailsField(error) } }),
    })),
  }
}

export function comparisonDocument({ snapshotId, isStrict, ok, groups }: SnapshotComparison) {
  return {
    ok,
    snapshot_id: snapshotId,
    strict: isStrict,
    groups: groups.map(({ group, isDifferent, error, positions }) => ({
      group,
      ok: !isDifferent,
      ...(error !== undefined && { error }),
      positions,
    })),
  }
}
