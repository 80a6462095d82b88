import { KafkaBackupError } from '../../errors.ts'
import type { RegistryClient } from './client.ts'
import { asList } from './json-shape.ts'

/** No registry has more rows; one that sends new ones for ever is no registry. */
const MAX_ROWS = 5_000_000

type Query = Record<string, string | number | boolean>

/**
 * All rows of a list, each key once. The end is a page that brings nothing new: servers cut pages shorter than asked for,
 * and some give the whole list however often they are asked. Undefined where an optional list does not exist.
 */
export async function readPages(
  client: RegistryClient,
  call: { path: string; query: Query; pageSize: number; isOptional?: boolean; onDenied?: (error: Error) => void },
  keyOf: (row: unknown) => string,
  signal: AbortSignal,
): Promise<unknown[] | undefined> {
  const rows = new Map<string, unknown>()
  for (let offset = 0; ; ) {
    const request = { path: call.path, query: { ...call.query, offset, limit: call.pageSize } }
    const answer = call.isOptional
      ? await client.probe(request, signal, call.onDenied)
      : await client.call(request, signal)
    const page = asList(answer)
    if (page === undefined && !call.isOptional) {
      throw new KafkaBackupError('REGISTRY_PROTOCOL', `${client.name} does not answer ${call.path} with a list`)
    }
    if (page === undefined) return undefined
    const before = rows.size
    for (const row of page) rows.set(keyOf(row), row)
    if (rows.size === before) return [...rows.values()]
    if (rows.size > MAX_ROWS) {
      const message = `the registry ${client.name} answered ${call.path} with more than ${MAX_ROWS} rows`
      throw new KafkaBackupError('REGISTRY_PROTOCOL', message)
    }
    offset += page.length
  }
}
