import { hasCode } from '../errors.ts'
import { parseJson } from '../lib/json.ts'
import type { Storage } from '../storage/storage.ts'
import { type EarlierFile, SUMMARY_NAME } from './export-report.ts'

/** What the summary of the earlier export lists, with what it has found itself; nothing where there is none, where it is another document, or may not be read. */
export async function readEarlier(storage: Storage, signal: AbortSignal): Promise<EarlierFile[]> {
  try {
    const summary: unknown = parseJson((await storage.read(SUMMARY_NAME, signal)).toString('utf8'))
    return [...filesIn(summary, 'files'), ...filesIn(summary, 'left_over')]
  } catch (error) {
    if (error instanceof SyntaxError || hasCode(error, 'STORAGE_NOT_FOUND', 'STORAGE_DENIED')) return []
    throw error
  }
}

function filesIn(summary: unknown, field: string): EarlierFile[] {
  const listed: unknown = Object(summary)[field]
  if (!Array.isArray(listed)) return []
  return listed.flatMap(one => {
    const { name, topic } = Object(one)
    return typeof name === 'string' && typeof topic === 'string' ? [{ name, topic }] : []
  })
}

/** Those of the same topics that were not replaced and still exist: who reads all files of a folder takes them for a part of this export. */
export async function findLeftOver(
  earlier: readonly EarlierFile[],
  { names, topics }: { names: ReadonlySet<string>; topics: ReadonlySet<string> },
  storage: Storage,
  signal: AbortSignal,
): Promise<EarlierFile[]> {
  const found: EarlierFile[] = []
  for (const { name, topic } of earlier) {
    if (topics.has(topic) && !names.has(name) && (await exists(name, storage, signal))) found.push({ name, topic })
  }
  return found
}

/** The summary may be a document of someone else, with names that cannot be those of files. */
async function exists(name: string, storage: Storage, signal: AbortSignal): Promise<boolean> {
  try {
    return (await storage.stat(name, signal)) !== undefined
  } catch (error) {
    if (hasCode(error, 'LOCATION_INVALID')) return false
    throw error
  }
}
