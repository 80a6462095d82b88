import { formatCount } from '../../lib/units.ts'
import type { Amounts } from '../../restore/report.ts'

/** What a restore has done to schema ids, in one line; undefined where it did not look for any. */
export function formatSchemaIds({ schemaIds }: Pick<Amounts, 'schemaIds'>): string | undefined {
  if (!schemaIds) return undefined
  const { key, value } = schemaIds
  const rewritten = `rewritten in ${formatCount(key.rewritten)} keys and ${formatCount(value.rewritten)} values`
  const unknown = key.unknown + value.unknown
  return unknown === 0 ? rewritten : `${rewritten}; ${formatCount(unknown)} unknown ones left`
}
