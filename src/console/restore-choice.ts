import { findAsOf } from '../archive/select-generation.ts'
import { KafkaBackupError, usageError } from '../errors.ts'
import { formatUtc } from '../lib/clock.ts'
import { isPattern } from '../lib/glob.ts'
import type { ArchiveReader, OpenedBackup } from './archive-reader.ts'
import { textIn, timeIn } from './page-request.ts'
import type { RestoreChoice } from './restore-plan.ts'

/** The state that a choice means. */
export type Chosen = { backup: OpenedBackup; problem?: string }

export async function chooseState(
  reader: ArchiveReader,
  backup: OpenedBackup,
  { asOf }: RestoreChoice,
  signal: AbortSignal,
): Promise<Chosen> {
  if (asOf === undefined) return { backup }
  const { place, location } = backup
  try {
    const generation = await findAsOf(location.storage, place.backupId, BigInt(Date.parse(asOf)), signal)
    const { manifest } = await reader.open({ ...place, generation }, signal)
    return { backup: { ...backup, manifest } }
  } catch (error) {
    if (!(error instanceof KafkaBackupError) || error.code !== 'GENERATION_NOT_FOUND') throw error
    return { backup, problem: `${error.message}. ${error.help ?? ''}` }
  }
}

/** Pure. */
export function readChoice(query: URLSearchParams): RestoreChoice {
  const list = (name: string) => [...new Set((textIn(query, name) ?? '').split(/[\s,]+/))].filter(one => one !== '')
  const [include, exclude, renames] = [list('include'), list('exclude'), list('rename').map(readRename)]
  refuseManyPatterns([...include, ...exclude, ...renames.map(([from]) => from)])
  const time = (name: string) => {
    const ms = timeIn(query, name)
    return ms === undefined ? undefined : formatUtc(ms)
  }
  return {
    include: include.length === 0 ? ['*'] : include,
    exclude,
    mapping: new Map(renames),
    servers: list('servers'),
    asOf: time('as-of'),
    windowStart: time('start'),
    windowEnd: time('end'),
  }
}

/** Each is compared with every topic of the backup, and nothing else is answered meanwhile. */
const MAX_PATTERNS = 100

function refuseManyPatterns(selectors: readonly string[]): void {
  const count = selectors.filter(one => isPattern(one) || one.includes('@')).length
  if (count <= MAX_PATTERNS) return
  throw usageError(`${count} patterns and incarnations are more than the ${MAX_PATTERNS} that this page takes`)
}

function readRename(text: string): [string, string] {
  const [from, to, ...more] = text.split('=')
  if (from && to && more.length === 0) return [from, to]
  throw usageError(`rename: ${JSON.stringify(text.slice(0, 80))} is not source=target`)
}
