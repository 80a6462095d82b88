import {
  type JsonValue,
  type RegistrySettings,
  type RegistrySnapshot,
  type SchemaReference,
  type SchemaVersion,
  unset,
} from '../archive/registry-model.ts'
import { isSame } from './restore/plan/same-schema.ts'

/** `missing`: only on the left. `extra`: only on the right. The others are both there, and not the same. */
type SchemaDifferenceKind =
  | 'missing'
  | 'extra'
  | 'text'
  | 'type'
  | 'references'
  | 'metadata'
  | 'rule_set'
  | 'deleted'
  | 'compatibility'
  | 'mode'
  | 'config'
  | 'id'

export interface SchemaDifference {
  /** A subject; `:.context:` for the settings of a context, null for those of the whole registry. */
  subject: string | null
  /** Null where it is about the subject as a whole. */
  version: number | null
  kind: SchemaDifferenceKind
  /** In a few words; null where there is nothing on that side. */
  left: string | null
  right: string | null
}

interface SnapshotDiff {
  differences: SchemaDifference[]
  /** Versions that are the same but for their ID: a difference only if IDs have to be the same. */
  ids: SchemaDifference[]
}

/** Pure. What is on the left and not on the right, the other way round, or other there. In the order of the subjects. */
export function diffSnapshots(left: RegistrySnapshot, right: RegistrySnapshot): SnapshotDiff {
  const found = [
    ...diffSettings(null, left.global, right.global),
    ...keysOf(left.contextSettings, right.contextSettings).flatMap(context =>
      diffSettings(`:${context}:`, left.contextSettings.get(context), right.contextSettings.get(context)),
    ),
    ...diffSubjects(left, right),
  ]
  return {
    differences: found.filter(({ kind }) => kind !== 'id'),
    ids: found.filter(({ kind }) => kind === 'id'),
  }
}

function diffSubjects(left: RegistrySnapshot, right: RegistrySnapshot): SchemaDifference[] {
  const ours = Map.groupBy(left.versions, ({ subject }) => subject)
  const theirs = Map.groupBy(right.versions, ({ subject }) => subject)
  const isOn = (snapshot: RegistrySnapshot, versions: typeof ours, subject: string) =>
    snapshot.subjects.has(subject) || versions.has(subject)
  return keysOf(left.subjects, ours, right.subjects, theirs).flatMap(subject => {
    const [a = [], b = []] = [ours.get(subject), theirs.get(subject)]
    if (!isOn(right, theirs, subject)) return [rowOf(subject, null, 'missing', countOf(a), null)]
    if (!isOn(left, ours, subject)) return [rowOf(subject, null, 'extra', null, countOf(b))]
    return [
      ...diffVersions(subject, a, b),
      ...diffSettings(subject, left.subjects.get(subject), right.subjects.get(subject)),
    ]
  })
}

function diffVersions(
  subject: string,
  left: readonly SchemaVersion[],
  right: readonly SchemaVersion[],
): SchemaDifference[] {
  const ours = new Map(left.map(one => [one.version, one]))
  const theirs = new Map(right.map(one => [one.version, one]))
  const numbers = [...new Set([...ours.keys(), ...theirs.keys()])].sort((a, b) => a - b)
  return numbers.flatMap(version => {
    const [a, b] = [ours.get(version), theirs.get(version)]
    if (a && b) return diffVersion(a, b)
    if (a) return [rowOf(subject, version, 'missing', `ID ${a.id}`, null)]
    return [rowOf(subject, version, 'extra', null, b ? `ID ${b.id}` : null)]
  })
}

function diffVersion(a: SchemaVersion, b: SchemaVersion): SchemaDifference[] {
  const pairs: [SchemaDifferenceKind, JsonValue, JsonValue][] = [
    ['type', a.schemaType, b.schemaType],
    ['references', listReferences(a.references), listReferences(b.references)],
    ['metadata', a.metadata, b.metadata],
    ['rule_set', a.ruleSet, b.ruleSet],
    ['deleted', a.isDeleted, b.isDeleted],
    ['id', a.id, b.id],
  ]
  const text = a.schema === b.schema ? [] : [textRow(a, b)]
  return [...text, ...differing(a.subject, a.version, pairs)]
}

function diffSettings(
  subject: string | null,
  left: RegistrySettings = unset,
  right: RegistrySettings = unset,
): SchemaDifference[] {
  return differing(subject, null, [
    ['compatibility', left.compatibility, right.compatibility],
    ['mode', left.mode, right.mode],
    ['config', left.config, right.config],
  ])
}

function differing(
  subject: string | null,
  version: number | null,
  pairs: readonly [SchemaDifferenceKind, JsonValue, JsonValue][],
): SchemaDifference[] {
  return pairs
    .filter(([, a, b]) => !isSame(a, b))
    .map(([kind, a, b]) => rowOf(subject, version, kind, textOf(a), textOf(b)))
}

/** From a little before the first character that is another: the beginnings of two versions are mostly the same. */
function textRow(a: SchemaVersion, b: SchemaVersion): SchemaDifference {
  let at = 0
  while (at < a.schema.length && a.schema[at] === b.schema[at]) at++
  const from = Math.max(0, at - BEFORE)
  const cut = (text: string) => `${from > 0 ? '...' : ''}${text.slice(from, from + SHOWN).toWellFormed()}`
  return rowOf(a.subject, a.version, 'text', cut(a.schema), cut(b.schema))
}

const BEFORE = 10
const SHOWN = 40

function listReferences(references: readonly SchemaReference[]): JsonValue {
  return references.map(({ name, subject, version }) => ({ name, subject, version }))
}

function textOf(value: JsonValue): string | null {
  if (value === null || typeof value === 'string') return value
  return JSON.stringify(value)
}

function rowOf(
  subject: string | null,
  version: number | null,
  kind: SchemaDifferenceKind,
  left: string | null,
  right: string | null,
): SchemaDifference {
  return { subject, version, kind, left, right }
}

function countOf(versions: readonly SchemaVersion[]): string {
  return `${versions.length} ${versions.length === 1 ? 'version' : 'versions'}`
}

function keysOf(...maps: readonly ReadonlyMap<string, unknown>[]): string[] {
  return [...new Set(maps.flatMap(map => [...map.keys()]))].sort()
}
