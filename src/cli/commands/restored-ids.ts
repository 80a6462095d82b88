import { formatCount } from '../../lib/units.ts'
import type { RestoreDryRunTopic } from '../../restore/dry-run.ts'
import { type Amounts, sumChecks } from '../../restore/report.ts'
import { plural } from '../text.ts'

/** The results for schema IDs in one line; undefined if they were not checked. */
export function formatSchemaIds({ schemaIds, idCheck }: Pick<Amounts, 'schemaIds' | 'idCheck'>): string | undefined {
  const sampled = idCheck?.mode === 'sample' ? formatIdCheck({ idCheck }) : undefined
  if (!schemaIds) return sampled
  const { key, value } = schemaIds
  const unknown = key.unknown + value.unknown
  const unclear = key.unclear + value.unclear
  return [
    `rewritten in ${formatCount(key.rewritten)} keys and ${formatCount(value.rewritten)} values`,
    ...(unknown === 0 ? [] : [`${formatCount(unknown)} unknown, not changed`]),
    ...(unclear === 0 ? [] : [`${formatCount(unclear)} unclear, not changed`]),
    ...(sampled === undefined ? [] : [sampled]),
  ].join('; ')
}

/** The schema ID checks of a dry run in one line. */
export function formatPlannedIds(topics: readonly RestoreDryRunTopic[]): string | undefined {
  return formatIdCheck(sumChecks(topics.flatMap(({ idCheck }) => idCheck ?? [])))
}

/** The records that were checked for IDs that the target does not have. */
function formatIdCheck({ idCheck }: Pick<Amounts, 'idCheck'>): string | undefined {
  if (!idCheck) return undefined
  const { mode, records, unknown } = idCheck
  const found = unknown === 0 ? 'no unknown ID' : `${plural(unknown, 'unknown ID')}`
  return `${mode === 'all' ? '' : 'a sample of '}${plural(records, 'record')} checked, ${found}`
}
