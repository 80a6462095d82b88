import { type SchemaVersion, versionKey } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import { numberOf, textOf } from '../../lib/json.ts'
import { runPool } from '../../lib/pool.ts'
import { contextPath, pathOf } from './address.ts'
import type { RegistryClient } from './client.ts'
import type { HiddenContext, Identity } from './flavour.ts'
import { listSubjects, readPages } from './list-subjects.ts'
import { asList, asRecord, parseNumbers, parseVersion, qualify } from './parse-answers.ts'
import { SubjectWalk, type Unreadable } from './walk-subjects.ts'

/** Versions of a registry, soft-deleted ones too, by subject and version. */
export interface Inventory {
  versions: readonly SchemaVersion[]
  /** Subjects that have settings and no versions, as far as the registry lists them. */
  aliases: readonly string[]
  warnings: readonly string[]
  /** Contexts that the registry lists without showing their subjects. */
  hidden: readonly HiddenContext[]
}

type Pass = Inventory & { unreadable?: readonly Unreadable[] }

/** A registry changes while it is read. A pass that finds what the one before found is taken as true. */
const MAX_PASSES = 6

/** What a reading of versions is for. */
export interface Needed {
  isWanted: (subject: string) => boolean
  /** Subjects can be left out, because a backup reads them. */
  isBackup?: boolean
}

/**
 * Through the list of all schemas where that is whole, else subject by subject. It holds at least the subjects that are
 * wanted, and all that they refer to.
 */
export async function readInventory(
  client: RegistryClient,
  identity: Identity,
  { isWanted, isBackup = false }: Needed,
  signal: AbortSignal,
): Promise<Inventory> {
  if (identity.flavour === 'confluent' || identity.flavour === 'karapace') {
    // What is registered meanwhile, or what a follower shows late, is only in one of the lists: then both are read again.
    const read = () => readByList(client, identity, signal)
    const listed = await read()
    const found = listed === 'incomplete' ? await read() : listed
    if (found !== undefined && found !== 'incomplete') return found
  }
  const walk = new SubjectWalk(client, identity, isWanted)
  const found = await untilAgreed(client, async () => {
    const versions = await walk.pass(signal)
    const { warnings, unreadable, hidden } = walk
    return { versions, aliases: [], warnings, unreadable, hidden }
  })
  refuseUnreadable(client, identity, walk.unreadable, isBackup)
  return { ...found, warnings: [...found.warnings, ...warnOfAliases(client, identity)] }
}

/** Only the list of all schemas shows a subject that has no versions because it is an alias; Confluent has them from 7.6 on. */
function warnOfAliases({ name }: RegistryClient, { flavour, version }: Identity): string[] {
  const [major = Infinity, minor = 0] = version?.match(/\d+/g)?.map(Number) ?? []
  if (flavour !== 'confluent' || major < 7 || (major === 7 && minor < 6)) return []
  return [`aliases are left out, because the registry ${name} does not show all schemas in one list (GET /schemas)`]
}

/** A live subject that cannot be read is never left out of a backup, and a restore could write over it. */
function refuseUnreadable(
  { name }: RegistryClient,
  { flavour }: Identity,
  unreadable: readonly Unreadable[],
  isBackup: boolean,
): void {
  const slashed = flavour === 'axonops' ? unreadable.find(({ subject }) => subject.includes('/')) : undefined
  const first = slashed ?? unreadable[0]
  if (first === undefined) return
  const whole = `subject ${JSON.stringify(first.subject)}`
  const what = first.version === null ? whole : `version ${first.version} of ${whole}`
  const more = unreadable.length > 1 ? ` and ${unreadable.length - 1} more` : ''
  const why = slashed
    ? 'cannot be asked for it: AxonOps finds no subject with a slash in its name, however the request is encoded'
    : 'does not give it'
  throw new KafkaBackupError('REGISTRY_PROTOCOL', `the registry ${name} lists ${what}${more}, but ${why}`, {
    help: HELP[isBackup ? 'backup' : 'restore'][slashed ? 'slashed' : 'broken'],
  })
}

const HELP = {
  backup: {
    slashed:
      'Register the schema under a name without a slash, or leave the subject out with `enterprise.schema_registry.backup.exclude`.',
    broken:
      'Check the subject in the registry. If it is broken there, leave it out with `enterprise.schema_registry.backup.exclude`.',
  },
  restore: {
    slashed: 'A restore has to know all that the target has. Remove the subject there, or restore to another registry.',
    broken:
      'A restore has to know all that the target has. Repair or delete the subject there, or restore to another registry.',
  },
} as const

/** Undefined where the list does not exist, or lacks what is needed; `incomplete` where it lacks subjects that the registry has. */
async function readByList(
  client: RegistryClient,
  identity: Identity,
  signal: AbortSignal,
): Promise<Inventory | 'incomplete' | undefined> {
  let next = await listSchemas(client, identity, signal)
  if (next === undefined) return undefined
  const agreed = untilAgreed(client, async () => {
    const list = next ?? (await listSchemas(client, identity, signal))
    next = undefined
    return { versions: [], aliases: [], ...list, warnings: [], hidden: [] }
  })
  const [inventory, { subjects, hidden }] = await Promise.all([agreed, listSubjects(client, identity, signal)])
  const known = new Set(inventory.versions.map(({ subject }) => subject))
  return subjects.every(subject => known.has(subject)) ? { ...inventory, hidden } : 'incomplete'
}

async function untilAgreed(client: RegistryClient, pass: () => Promise<Pass>): Promise<Inventory> {
  let before: string | undefined
  for (let passes = 0; passes < MAX_PASSES; passes++) {
    const found = await pass()
    const versions = [...found.versions].sort(bySubjectAndVersion)
    const rows = versions.map(each => [each.subject, each.version, each.id, each.isDeleted])
    const print = [...rows, ...(found.unreadable ?? [])].map(row => JSON.stringify(row)).join('\n')
    if (print === before) return { ...found, versions }
    before = print
  }
  throw new KafkaBackupError(
    'REGISTRY_CHANGING',
    `the registry ${client.name} changed while it was read, in each of ${MAX_PASSES} passes`,
  )
}

function bySubjectAndVersion(a: SchemaVersion, b: SchemaVersion): number {
  if (a.subject !== b.subject) return a.subject < b.subject ? -1 : 1
  return a.version - b.version
}

/** Servers cut at 1000 of their own accord; with less, a page of large schemas stays moderate. */
const PAGE_SIZE = 500

interface SchemaList {
  versions: SchemaVersion[]
  /** Subjects without versions that are aliases of another one. */
  aliases: string[]
}

/** One pass over `GET /schemas` of every context; undefined where a server has no such list, or rows without a subject. */
async function listSchemas(
  client: RegistryClient,
  identity: Identity,
  signal: AbortSignal,
): Promise<SchemaList | undefined> {
  const all = new Map<string, SchemaVersion>()
  const aliases = new Set<string>()
  for (const context of identity.contexts) {
    const found = await listContext(client, identity, context, signal)
    if (found === undefined) return undefined
    // The list of one context may hold versions of another.
    for (const each of found.versions) all.set(versionKey(each.subject, each.version), each)
    for (const alias of found.aliases) aliases.add(alias)
  }
  return { versions: [...all.values()], aliases: [...aliases] }
}

async function listContext(
  client: RegistryClient,
  identity: Identity,
  context: string,
  signal: AbortSignal,
): Promise<SchemaList | undefined> {
  const rows = await listRows(client, identity, context, true, signal)
  const versions = rows && parseRows(rows, context)
  if (rows === undefined || versions === undefined) return undefined
  const aliases = rows.flatMap(row => parseAliases(row, context))
  const saysWhichAreDeleted = rows.some(row => asRecord(row)?.deleted !== undefined)
  if (saysWhichAreDeleted && identity.flavour !== 'karapace') return { versions, aliases }

  const otherRows = await listRows(client, identity, context, false, signal)
  const others = otherRows && parseRows(otherRows, context)
  if (others === undefined) return undefined
  // Karapace took `deleted` the wrong way round for long: both lists together are the whole, whichever way it is.
  const whole = new Map([...others, ...versions].map(each => [versionKey(each.subject, each.version), each]))
  const live =
    identity.flavour === 'karapace'
      ? await askWhichAreLive(client, identity, [...whole.values()], signal)
      : new Set(others.map(each => versionKey(each.subject, each.version)))
  return { versions: [...whole].map(([key, each]) => ({ ...each, isDeleted: !live.has(key) })), aliases }
}

function listRows(
  client: RegistryClient,
  identity: Identity,
  context: string,
  deleted: boolean,
  signal: AbortSignal,
): Promise<unknown[] | undefined> {
  const path = `${contextPath(identity, context)}/schemas`
  const call = { path, query: { deleted, latestOnly: false, aliases: true }, pageSize: PAGE_SIZE, isOptional: true }
  return readPages(client, call, rowKey, signal)
}

/** Rows without a subject, which are of no use, count by what they hold. */
function rowKey(row: unknown): string {
  const { subject, version } = asRecord(row) ?? {}
  return subject === undefined ? JSON.stringify(row) : versionKey(textOf(subject), numberOf(version))
}

function parseRows(rows: readonly unknown[], context: string): SchemaVersion[] | undefined {
  const parsed = rows.map(row => parseVersion(row, context))
  return parsed.every(each => each !== undefined) ? parsed : undefined
}

function parseAliases(row: unknown, context: string): string[] {
  const names = asList(asRecord(row)?.aliases) ?? []
  return names.map(name => qualify(textOf(name), context))
}

async function askWhichAreLive(
  client: RegistryClient,
  identity: Identity,
  versions: readonly SchemaVersion[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const subjects = [...new Set(versions.map(({ subject }) => subject))]
  const lists = await runPool(subjects, client.concurrency, async subject => {
    const live = await client.find({ path: pathOf(identity, 'subjects', subject, '/versions'), subject }, signal)
    return parseNumbers(live, subject).map(version => versionKey(subject, version))
  })
  return new Set(lists.flat())
}
