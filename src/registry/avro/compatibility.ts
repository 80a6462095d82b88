import type { AvroSchema } from './avro-schema.ts'
import { type Mismatch, resolveAvro } from './resolve-avro.ts'

export const compatibilityLevels = [
  'NONE',
  'BACKWARD',
  'BACKWARD_TRANSITIVE',
  'FORWARD',
  'FORWARD_TRANSITIVE',
  'FULL',
  'FULL_TRANSITIVE',
] as const

export type CompatibilityLevel = (typeof compatibilityLevels)[number]

/** An earlier version that a new schema does not get along with. */
export interface Incompatibility extends Mismatch {
  version: number
  /** Who cannot read: the new schema what the earlier one wrote, or the other way round. */
  reader: 'new' | 'earlier'
}

/**
 * Holds a new schema against earlier versions, oldest first. The plain levels look at the newest of them only. Empty when
 * it is compatible.
 */
export function checkCompatibility(
  level: CompatibilityLevel,
  schema: AvroSchema,
  earlier: readonly { version: number; schema: AvroSchema }[],
): Incompatibility[] {
  const isTransitive = level.endsWith('_TRANSITIVE')
  const isBackward = level.startsWith('BACKWARD') || level.startsWith('FULL')
  const isForward = level.startsWith('FORWARD') || level.startsWith('FULL')
  return (isTransitive ? earlier : earlier.slice(-1)).flatMap(({ version, schema: old }) => [
    ...(isBackward ? resolveAvro(schema, old) : []).map(found => ({ ...found, version, reader: 'new' as const })),
    ...(isForward ? resolveAvro(old, schema) : []).map(found => ({ ...found, version, reader: 'earlier' as const })),
  ])
}
