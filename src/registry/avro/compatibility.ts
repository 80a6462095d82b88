import {
  type AvroEnum,
  type AvroField,
  type AvroNamed,
  type AvroRecord,
  type AvroSchema,
  type AvroUnion,
  describeAvro,
  isNamed,
  shortNameOf,
} from './avro-schema.ts'

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
interface Incompatibility extends Mismatch {
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

/** Why a reader cannot read what a writer wrote. */
export interface Mismatch {
  kind:
    | 'TYPE_MISMATCH'
    | 'NAME_MISMATCH'
    | 'FIXED_SIZE_MISMATCH'
    | 'MISSING_ENUM_SYMBOLS'
    | 'MISSING_UNION_BRANCH'
    | 'READER_FIELD_MISSING_DEFAULT_VALUE'
  /** The place in the reader: `/fields/price/items`. */
  path: string
  message: string
}

/**
 * Whether every value of the writer can be read with the reader, by the rules of schema resolution in the Avro
 * specification. Empty when it can.
 */
export function resolveAvro(reader: AvroSchema, writer: AvroSchema): Mismatch[] {
  return compare(reader, writer, '', { fitting: new Map(), failed: new Map() })
}

/** What is known of pairs of named types, so a circle ends and a type that is used often is compared once. */
interface Seen {
  /** Compared already or just now: a recursive pair fits unless something else in it does not. */
  fitting: Map<AvroNamed, Set<AvroNamed>>
  /** What failed although every pair in progress was taken to fit fails everywhere. */
  failed: Map<AvroNamed, Map<AvroNamed, Mismatch[]>>
}

function compare(reader: AvroSchema, writer: AvroSchema, path: string, seen: Seen): Mismatch[] {
  if (writer.type === 'union') return writer.branches.flatMap(branch => compare(reader, branch, path, seen))
  if (reader.type === 'union') return compareToUnion(reader, writer, path, seen)
  if (reader.type === 'array' && writer.type === 'array')
    return compare(reader.items, writer.items, `${path}/items`, seen)
  if (reader.type === 'map' && writer.type === 'map')
    return compare(reader.values, writer.values, `${path}/values`, seen)
  if (isNamed(reader) && isNamed(writer) && reader.type === writer.type) return compareNamed(reader, writer, path, seen)
  if (reader.type === writer.type || isPromoted(writer.type, reader.type)) return []
  const message = `the reader expects ${describeAvro(reader)}, the writer has ${describeAvro(writer)}`
  return [{ kind: 'TYPE_MISMATCH', path, message }]
}

/** What a writer's type may be read as besides itself. */
const promotions: Readonly<Record<string, readonly string[]>> = {
  int: ['long', 'float', 'double'],
  long: ['float', 'double'],
  float: ['double'],
  string: ['bytes'],
  bytes: ['string'],
}

function isPromoted(from: string, to: string): boolean {
  return promotions[from]?.includes(to) ?? false
}

/** Each branch is tried with a separate set of matching pairs: assumptions of a branch that failed are discarded. */
function compareToUnion(reader: AvroUnion, writer: AvroSchema, path: string, seen: Seen): Mismatch[] {
  for (const branch of reader.branches) {
    const trial: Seen = { fitting: copyOf(seen.fitting), failed: seen.failed }
    if (compare(branch, writer, path, trial).length > 0) continue
    seen.fitting = trial.fitting
    return []
  }
  const message = `no branch of the reader's ${describeAvro(reader)} takes the writer's ${describeAvro(writer)}`
  return [{ kind: 'MISSING_UNION_BRANCH', path, message }]
}

function compareNamed(reader: AvroNamed, writer: AvroNamed, path: string, seen: Seen): Mismatch[] {
  const failure = seen.failed.get(reader)?.get(writer)
  if (failure) return failure
  if (seen.fitting.get(reader)?.has(writer)) return []
  seen.fitting.set(reader, (seen.fitting.get(reader) ?? new Set()).add(writer))
  const mismatches = compareDefinitions(reader, writer, path, seen)
  if (mismatches.length > 0) seen.failed.set(reader, (seen.failed.get(reader) ?? new Map()).set(writer, mismatches))
  return mismatches
}

function compareDefinitions(reader: AvroNamed, writer: AvroNamed, path: string, seen: Seen): Mismatch[] {
  if (!isNameMatch(reader, writer)) {
    const message = `the reader expects ${describeAvro(reader)}, the writer has ${describeAvro(writer)}`
    return [{ kind: 'NAME_MISMATCH', path: `${path}/name`, message }]
  }
  if (reader.type === 'record' && writer.type === 'record') return compareFields(reader, writer, path, seen)
  if (reader.type === 'enum' && writer.type === 'enum') return compareSymbols(reader, writer, path)
  if (reader.type === 'fixed' && writer.type === 'fixed' && reader.size !== writer.size) {
    const message = `${reader.fullName} has ${reader.size} bytes in the reader, ${writer.size} in the writer`
    return [{ kind: 'FIXED_SIZE_MISMATCH', path: `${path}/size`, message }]
  }
  return []
}

/** Without namespaces, as the specification says; the reader's aliases are full names of the writer's. */
function isNameMatch(reader: AvroNamed, writer: AvroNamed): boolean {
  return shortNameOf(reader.fullName) === shortNameOf(writer.fullName) || reader.aliases.includes(writer.fullName)
}

function compareSymbols(reader: AvroEnum, writer: AvroEnum, path: string): Mismatch[] {
  if (reader.default !== undefined) return []
  const missing = writer.symbols.filter(symbol => !reader.symbols.includes(symbol))
  if (missing.length === 0) return []
  const message = `the reader's enum ${reader.fullName} has no default and lacks ${missing.join(', ')}`
  return [{ kind: 'MISSING_ENUM_SYMBOLS', path: `${path}/symbols`, message }]
}

function compareFields(reader: AvroRecord, writer: AvroRecord, path: string, seen: Seen): Mismatch[] {
  return reader.fields.flatMap((field): Mismatch[] => {
    const place = `${path}/fields/${field.name}`
    const written = findField(field, writer)
    if (written) return compare(field.schema, written.schema, `${place}/type`, seen)
    if (field.default !== undefined) return []
    const message = `the reader's field ${reader.fullName}.${field.name} has no default, and the writer has no such field`
    return [{ kind: 'READER_FIELD_MISSING_DEFAULT_VALUE', path: place, message }]
  })
}

function findField({ name, aliases }: AvroField, writer: AvroRecord): AvroField | undefined {
  return writer.fields.find(field => field.name === name) ?? writer.fields.find(field => aliases.includes(field.name))
}

function copyOf(fitting: Seen['fitting']): Seen['fitting'] {
  return new Map([...fitting].map(([reader, writers]) => [reader, new Set(writers)]))
}
