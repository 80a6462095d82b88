import { DEFAULT_CONTEXT, splitSubject } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import { textOf } from '../../lib/json.ts'
import { runPool } from '../../lib/pool.ts'
import { contextPath } from './address.ts'
import { listArtifacts, refuseCutList } from './apicurio.ts'
import type { RegistryClient } from './client.ts'
import { type HiddenContext, type Identity, isHiding } from './flavour.ts'
import { asList, qualify } from './parse-answers.ts'

/** All of them, if a server accepts a limit. */
const ALL = 1_000_000

export interface SubjectList {
  subjects: string[]
  /** Contexts whose subjects the registry does not show. */
  hidden: readonly HiddenContext[]
}

/** Every subject of every context, soft-deleted ones too. */
export async function listSubjects(
  client: RegistryClient,
  identity: Identity,
  signal: AbortSignal,
): Promise<SubjectList> {
  const artifacts = identity.flavour === 'apicurio' ? await listArtifacts(client, signal) : undefined
  if (artifacts !== undefined) return { subjects: artifacts.sort(), hidden: [] }
  const { subjects, hidden } = await listNames(client, identity, true, signal)
  if (identity.flavour === 'apicurio') refuseCutList(client, subjects)
  return { subjects: subjects.sort(), hidden }
}

/** In no order. */
export async function listNames(
  client: RegistryClient,
  identity: Identity,
  deleted: boolean,
  signal: AbortSignal,
): Promise<SubjectList> {
  const found = new Set<string>()
  const hidden: HiddenContext[] = []
  for (const context of identity.contexts) {
    const call = { path: `${contextPath(identity, context)}/subjects`, query: { deleted }, pageSize: ALL }
    try {
      for (const subject of (await readPages(client, call, textOf, signal)) ?? []) {
        if (typeof subject !== 'string') throw notText(client, subject)
        found.add(qualify(subject, context))
      }
    } catch (error) {
      if (context === DEFAULT_CONTEXT || !isHiding(error)) throw error
      // Confluent lists the subjects of all contexts with those of the default one.
      const isShown = [...found].some(subject => splitSubject(subject).context === context)
      if (!isShown) hidden.push({ context, error })
    }
  }
  const { unlisted } = identity
  const hasContexts = [...found].some(subject => splitSubject(subject).context !== DEFAULT_CONTEXT)
  if (unlisted && hasContexts) hidden.push({ context: null, error: unlisted })
  return { subjects: [...found], hidden }
}

function notText({ name }: RegistryClient, subject: unknown): KafkaBackupError {
  const message = `the registry ${name} lists ${JSON.stringify(subject)?.slice(0, 100)} among its subjects`
  return new KafkaBackupError('REGISTRY_PROTOCOL', message)
}

/** No registry has more rows; a server that keeps sending new ones is not a registry. */
const MAX_ROWS = 5_000_000

type Query = Record<string, string | number | boolean>

/** So many pages are asked for at once after a page that was full. */
const PAGES_AHEAD = 8

interface ListCall {
  path: string
  query: Query
  pageSize: number
  isOptional?: boolean
}

/**
 * All rows of a list, each key once. The end is a page that brings nothing new: servers cut pages shorter than asked for,
 * and some give the whole list however often they are asked. Undefined where an optional list does not exist.
 */
export async function readPages(
  client: RegistryClient,
  call: ListCall,
  keyOf: (row: unknown) => string,
  signal: AbortSignal,
): Promise<unknown[] | undefined> {
  const rows = new Map<string, unknown>()
  for (let offset = 0, pages = 1; ; ) {
    const offsets = Array.from({ length: pages }, (_, at) => offset + at * call.pageSize)
    const read = await runPool(offsets, pages, at => readPage(client, call, at, signal))
    for (const page of read) {
      if (page === undefined) return undefined
      const before = rows.size
      for (const row of page) rows.set(keyOf(row), row)
      if (rows.size === before) return [...rows.values()]
      refuseEndless(client, call, rows.size)
      offset += page.length
      pages = page.length === call.pageSize ? PAGES_AHEAD : 1
      // The pages behind a shorter one begin too late.
      if (pages === 1) break
    }
  }
}

async function readPage(
  client: RegistryClient,
  { path, query, pageSize, isOptional }: ListCall,
  offset: number,
  signal: AbortSignal,
): Promise<readonly unknown[] | undefined> {
  const request = { path, query: { ...query, offset, limit: pageSize } }
  const page = asList(isOptional ? await client.probe(request, signal) : await client.call(request, signal))
  if (page === undefined && !isOptional) {
    throw new KafkaBackupError('REGISTRY_PROTOCOL', `${client.name} does not answer ${path} with a list`)
  }
  return page
}

function refuseEndless({ name }: RegistryClient, { path }: ListCall, rows: number): void {
  if (rows <= MAX_ROWS) return
  const message = `the registry ${name} answered ${path} with more than ${MAX_ROWS} rows`
  throw new KafkaBackupError('REGISTRY_PROTOCOL', message)
}
