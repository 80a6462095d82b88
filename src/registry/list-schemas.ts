import { runPool } from '../lib/pool.ts'
import { encodeSegment } from './address.ts'
import type { RegistryClient } from './client.ts'
import { asRecord, type Identity } from './flavour.ts'
import { DEFAULT_CONTEXT, type SchemaVersion } from './model.ts'
import { readPages } from './pages.ts'
import { parseVersion } from './parse-version.ts'
import { pathOf, versionKey } from './paths.ts'

/** Servers cut at 1000 of their own accord; with less, a page of large schemas stays moderate. */
const PAGE_SIZE = 500

/** One pass over `GET /schemas` of every context; undefined where a server has no such list, or rows without a subject. */
export async function listSchemas(
  client: RegistryClient,
  identity: Identity,
  signal: AbortSignal,
): Promise<SchemaVersion[] | undefined> {
  const all: SchemaVersion[] = []
  for (const context of identity.contexts) {
    const found = await listContext(client, identity, context, signal)
    if (found === undefined) return undefined
    // The list of one context may hold those of another.
    all.push(...found)
  }
  return [...new Map(all.map(each => [versionKey(each.subject, each.version), each])).values()]
}

async function listContext(
  client: RegistryClient,
  identity: Identity,
  context: string,
  signal: AbortSignal,
): Promise<SchemaVersion[] | undefined> {
  const withDeleted = await listRows(client, context, true, signal)
  if (withDeleted === undefined) return undefined
  const saysWhichAreDeleted = withDeleted.some(row => asRecord(row)?.deleted !== undefined)
  if (saysWhichAreDeleted && identity.flavour !== 'karapace') return parseRows(withDeleted, context)

  const plain = (await listRows(client, context, false, signal)) ?? []
  const versions = parseRows(withDeleted, context)
  const others = parseRows(plain, context)
  if (versions === undefined || others === undefined) return undefined
  // Karapace took `deleted` the wrong way round for long: the longer list is the whole one, whichever it is.
  const whole = new Map([...others, ...versions].map(each => [versionKey(each.subject, each.version), each]))
  const live =
    identity.flavour === 'karapace'
      ? await askWhichAreLive(client, identity, [...whole.values()], signal)
      : new Set(others.map(each => versionKey(each.subject, each.version)))
  return [...whole].map(([key, each]) => ({ ...each, isDeleted: !live.has(key) }))
}

function listRows(
  client: RegistryClient,
  context: string,
  deleted: boolean,
  signal: AbortSignal,
): Promise<unknown[] | undefined> {
  const path = context === DEFAULT_CONTEXT ? '/schemas' : `/contexts/${encodeSegment(context)}/schemas`
  const call = { path, query: { deleted, latestOnly: false }, pageSize: PAGE_SIZE, isOptional: true }
  return readPages(client, call, rowKey, signal)
}

/** Rows without a subject, which are of no use, count by what they hold. */
function rowKey(row: unknown): string {
  const { subject, version } = asRecord(row) ?? {}
  return subject === undefined ? JSON.stringify(row) : versionKey(String(subject), Number(version))
}

function parseRows(rows: readonly unknown[], context: string): SchemaVersion[] | undefined {
  const parsed = rows.map(row => parseVersion(row, context))
  return parsed.every(each => each !== undefined) ? parsed : undefined
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
    return Array.isArray(live) ? live.map(version => versionKey(subject, Number(version))) : []
  })
  return new Set(lists.flat())
}
