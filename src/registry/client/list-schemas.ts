import { type SchemaVersion, versionKey } from '../../archive/registry-model.ts'
import { runPool } from '../../lib/pool.ts'
import type { RegistryClient } from './client.ts'
import type { Identity } from './flavour.ts'
import { asList, asRecord, numberOf, textOf } from './json-shape.ts'
import { readPages } from './pages.ts'
import { parseNumbers, parseVersion, qualify } from './parse-version.ts'
import { contextPath, pathOf } from './paths.ts'

/** Servers cut at 1000 of their own accord; with less, a page of large schemas stays moderate. */
const PAGE_SIZE = 500

export interface SchemaList {
  versions: SchemaVersion[]
  /** Subjects that have no versions and stand for another one. */
  aliases: string[]
}

/** One pass over `GET /schemas` of every context; undefined where a server has no such list, or rows without a subject. */
export async function listSchemas(
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
