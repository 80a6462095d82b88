import {
  type JsonObject,
  type LeftOutVersion,
  resolveReference,
  type SchemaType,
  type SchemaVersion,
  versionKey,
} from '../../archive/registry-model.ts'
import { compileGlobs, matchesAllWith, mayMatchWith } from '../../lib/glob.ts'
import { asObject } from './parse-answers.ts'

/** What of a registry is taken. */
export interface Selection {
  /** Patterns over whole names, the context included: `orders-*`, `:.eu:*`. */
  subjects: readonly string[]
  exclude: readonly string[]
  includeVersions: 'all' | 'latest'
  includeSoftDeleted: boolean
  /** Versions that others refer to are taken along, whatever the rest says. */
  includeReferences: boolean
  /** The same for Protobuf schemas alone; as `includeReferences` where it is not given. */
  includeProtobufDependencies?: boolean
  schemaTypes: readonly SchemaType[]
}

export const everything: Selection = {
  subjects: ['*'],
  exclude: [],
  includeVersions: 'all',
  includeSoftDeleted: true,
  includeReferences: true,
  schemaTypes: ['AVRO', 'JSON', 'PROTOBUF'],
}

interface Selected {
  versions: SchemaVersion[]
  skippedDeleted: number
  leftOut: LeftOutVersion[]
  warnings: string[]
}

/** Pure. The versions stay in their order. */
export function selectVersions(all: readonly SchemaVersion[], selection: Selection): Selected {
  const isWanted = isSelected(selection)
  const types = new Set(selection.schemaTypes)
  const matching = all.filter(({ subject, schemaType }) => isWanted(subject) && types.has(schemaType))
  const alive = matching.filter(({ isDeleted }) => selection.includeSoftDeleted || !isDeleted)
  const chosen = new Set(selection.includeVersions === 'latest' ? latestOf(alive) : alive)
  const { pulled, missing } = followReferences(all, chosen, selection)
  const versions = all
    .filter(each => chosen.has(each) || pulled.has(each))
    .map(each => (chosen.has(each) ? each : { ...each, isPulledIn: true as const }))
  const skippedDeleted = matching.filter(each => each.isDeleted && !chosen.has(each) && !pulled.has(each)).length
  const isSkipped = !selection.includeSoftDeleted && skippedDeleted > 0
  const earlier = alive.filter(each => !chosen.has(each) && !pulled.has(each)).length
  return {
    versions,
    skippedDeleted: isSkipped ? skippedDeleted : 0,
    leftOut: all
      .filter(each => isWanted(each.subject) && !chosen.has(each) && !pulled.has(each))
      .map(({ subject, version, id }) => ({ subject, version, id })),
    warnings: [
      ...(isSkipped ? [warnOfDeleted(skippedDeleted)] : []),
      ...(earlier > 0 ? [warnOfEarlier(earlier)] : []),
      ...missing,
    ],
  }
}

export function isSelected({ subjects, exclude }: Selection): (subject: string) => boolean {
  const isWanted = compileGlobs(subjects)
  const isExcluded = compileGlobs(exclude)
  return subject => isWanted(subject) && !isExcluded(subject)
}

/** Whether a subject of the context may be selected; null stands for any context but the default one. */
export function isContextSelected({ subjects, exclude }: Selection): (context: string | null) => boolean {
  return context => {
    const prefix = context === null ? ':.' : `:${context}:`
    return subjects.some(one => mayMatchWith(one, prefix)) && !exclude.some(one => matchesAllWith(one, prefix))
  }
}

/** Whether the job names contexts other than the default one, and not only every subject. */
export function namesContexts(selection: Selection): boolean {
  return isContextSelected(selection)(null) && selection.subjects.some(one => one.startsWith(':'))
}

/** The highest live version of each subject; of a subject that is deleted as a whole, the highest. */
function latestOf(versions: readonly SchemaVersion[]): SchemaVersion[] {
  const latest = new Map<string, SchemaVersion>()
  for (const each of versions) {
    const held = latest.get(each.subject)
    const isBetter =
      held === undefined || (held.isDeleted === each.isDeleted ? each.version > held.version : held.isDeleted)
    if (isBetter) latest.set(each.subject, each)
  }
  return [...latest.values()]
}

/** Exact versions, from one to the next, soft-deleted ones too: a schema cannot be parsed without them. */
function followReferences(
  all: readonly SchemaVersion[],
  chosen: ReadonlySet<SchemaVersion>,
  { includeReferences, includeProtobufDependencies = includeReferences }: Selection,
): { pulled: Set<SchemaVersion>; missing: string[] } {
  const byKey = new Map(all.map(each => [versionKey(each.subject, each.version), each]))
  const pulled = new Set<SchemaVersion>()
  const missing: string[] = []
  const open = [...chosen]
  for (let from = open.pop(); from !== undefined; from = open.pop()) {
    if (!(from.schemaType === 'PROTOBUF' ? includeProtobufDependencies : includeReferences)) continue
    for (const reference of from.references) {
      const target = byKey.get(versionKey(resolveReference(reference.subject, from.subject), reference.version))
      if (target === undefined) {
        missing.push(
          `version ${from.version} of subject ${JSON.stringify(from.subject)} refers to version ${reference.version} of ` +
            `subject ${JSON.stringify(reference.subject)}, which the registry does not show`,
        )
      } else if (!chosen.has(target) && !pulled.has(target)) {
        pulled.add(target)
        open.push(target)
      }
    }
  }
  return { pulled, missing }
}

function warnOfDeleted(count: number): string {
  const are = count === 1 ? '1 version is' : `${count} versions are`
  return (
    `${are} soft-deleted and left out; messages that were written with them cannot be read after a restore ` +
    '(set backup.include_soft_deleted: true to take them)'
  )
}

function warnOfEarlier(count: number): string {
  const are =
    count === 1
      ? '1 version is not the latest of its subject and is'
      : `${count} versions are not the latest of their subjects and are`
  return (
    `${are} left out; messages that were written with them cannot be read after a restore ` +
    '(set backup.include_versions: all to take them)'
  )
}

/**
 * Registries give metadata that is marked as sensitive in clear. It does not go into a backup: the values are taken out
 * and the loss is reported.
 */
export function withoutSensitive(version: SchemaVersion): { version: SchemaVersion; warning?: string } {
  const { sensitive, properties } = version.metadata ?? {}
  const held = asObject(properties)
  if (!Array.isArray(sensitive) || held === null) return { version }
  const names = sensitive.filter(name => typeof name === 'string' && name in held)
  if (names.length === 0) return { version }
  const kept: JsonObject = Object.fromEntries(Object.entries(held).filter(([name]) => !names.includes(name)))
  const warning =
    `metadata of version ${version.version} of subject ${JSON.stringify(version.subject)} that is marked as sensitive ` +
    `is left out: ${names.join(', ')}`
  return { version: { ...version, metadata: { ...version.metadata, properties: kept } }, warning }
}
