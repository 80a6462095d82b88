import { hasCode, type KafkaBackupError } from '../../errors.ts'
import { runPool } from '../../lib/pool.ts'
import type { Storage } from '../../storage/storage.ts'
import { problemOf } from '../damage.ts'
import type { NamedObject } from '../manifest.ts'
import { problemOfAvoided, problemOfReplaced } from './avoided-damage.ts'
import { readDocument } from './document.ts'
import { type Commit, changePartSchema } from './documents.ts'
import { documentsOf, isIntact, judgeAll, type KnownCommit, SharedNames } from './judge-opening.ts'
import { commitKey } from './keys.ts'
import { firstCommitOf, readCheckpoint, readCommit } from './read-commit.ts'
import { readPage } from './segment-lists.ts'

const CONCURRENCY = 8

export interface LogProblem {
  key: string
  problem: string
}

/** A state that a repair can begin with. */
export interface SalvageBase {
  generation: number
  /** The generation whose commit names the documents with this state; absent where the commit of the state itself can be opened. */
  namedBy?: number
}

export interface LogSurvey {
  /** The commits that are there, oldest first. */
  generations: readonly number[]
  /** Those that cannot be opened, or whose segments cannot all be listed. */
  unreadable: number[]
  /** Those that can be opened, while a checkpoint or roll-up that they name is damaged: the commits that it was made of are read instead. */
  throughCommits: number[]
  problems: LogProblem[]
  /** Damaged commits that no generation needs: their own generation can be read from `kept/`. */
  replaced: LogProblem[]
  /** Whether a commit itself can be read. */
  isReadable: (generation: number) => boolean
  /**
   * The newest generation that is whole, or a newer one whose commit is lost while another one names its state; and the newest that can be
   * opened although pages of its checkpoint are lost.
   */
  bases: SalvageBase[]
}

/** Reads every document that the generations of a log name, each once, and finds out which generations can be opened. */
export async function surveyLog(
  storage: Storage,
  backupId: string,
  generations: readonly number[],
  signal: AbortSignal,
): Promise<LogSurvey> {
  const bad = new Map<string, string>()
  const commits = new Map<number, KnownCommit>()
  const names = new SharedNames()
  const kept = new Map<number, { key: string; damage: KafkaBackupError; by: string }>()
  await runPool(generations, CONCURRENCY, async generation => {
    const key = commitKey(backupId, generation)
    await noteDamage(key, bad, async () => {
      const { commit, ref, damage } = await readCommit(storage, backupId, generation, signal)
      if (damage) kept.set(generation, { key, damage, by: ref.key })
      commits.set(generation, names.known({ commit, ref }))
    })
  })
  removeExchanged(generations, commits, bad)
  const lacking = await surveyDocuments(storage, backupId, [...commits.values()], bad, signal)
  const judged = judgeAll(generations, { commits, bad, lacking }, backupId)
  const closed = new Set(generations.filter(one => judged.get(one)?.verdict === 'closed'))
  const throughCommits = generations.filter(one => judged.get(one)?.verdict === 'through commits')
  const lacksPage = (one: number) => lacking.has(judged.get(one)?.checkpoint ?? '')
  const unreadable = generations.filter(one => closed.has(one) || lacksPage(one))
  const whole = generations.findLast(one => !closed.has(one) && !lacksPage(one))
  const opens = generations.findLast(one => !closed.has(one))
  const named = newestNamed(commits, key => !bad.has(key) && !lacking.has(key))
  const isNewer = named && named.generation > (whole ?? 0)
  const bases = [
    ...(isNewer ? [named] : whole === undefined ? [] : [{ generation: whole }]),
    ...(opens === undefined || opens === whole ? [] : [{ generation: opens }]),
  ]
  const replaced: LogProblem[] = []
  for (const [generation, { key, damage, by }] of kept) {
    const isReadable = !unreadable.includes(generation)
    const problem = isReadable ? problemOfReplaced(damage, key, by) : problemOf(damage, key)
    if (isReadable && !bad.has(key)) replaced.push({ key, problem })
    else bad.set(key, problem)
  }
  const healed = namedBy(throughCommits, commits, lacking)
  const needed = namedBy(unreadable, commits, lacking)
  const problems = [...bad].map(([key, problem]) => {
    if (!healed.has(key) || needed.has(key)) return { key, problem }
    return { key, problem: problemOfAvoided(key, problem) }
  })
  const isReadable = (one: number) => isIntact(one, commits, bad)
  return { generations, unreadable, throughCommits, problems, replaced, isReadable, bases }
}

/** The checkpoints with their lost pages, and the documents of all roll-ups that generations name. */
function namedBy(
  generations: Iterable<number>,
  commits: ReadonlyMap<number, KnownCommit>,
  lacking: ReadonlyMap<string, readonly string[]>,
): Set<string> {
  const known = [...generations].flatMap(one => commits.get(one) ?? [])
  return new Set(known.flatMap(documentsOf).flatMap(({ key }) => [key, ...(lacking.get(key) ?? [])]))
}

/**
 * An intact commit of another log is in the place of one: the next commit names another one before it. From the newest on, because only a commit
 * that is the right one can say this. Nothing vouches for the newest: it was exchanged where the one before it fits to those before.
 */
function removeExchanged(
  generations: readonly number[],
  commits: Map<number, KnownCommit>,
  bad: Map<string, string>,
): void {
  for (const generation of generations.toReversed()) {
    const [own, next] = [commits.get(generation), commits.get(generation + 1)]
    if (!own || !next?.previous || own.hashes.includes(next.previous.blake3)) continue
    const isFitting = own.previous && commits.get(generation - 1)?.hashes.includes(own.previous.blake3)
    const isNewest = isFitting && generation + 1 === generations.at(-1)
    if (isNewest) bad.set(next.key, 'it does not follow the commit before it')
    else bad.set(own.key, 'it is not the commit that the next one follows')
    commits.delete(isNewest ? generation + 1 : generation)
  }
}

/** The newest state that the documents of a checkpoint and roll-ups hold, without any commit. */
function newestNamed(
  commits: ReadonlyMap<number, KnownCommit>,
  isFine: (key: string) => boolean,
): Required<SalvageBase> | undefined {
  let newest: Required<SalvageBase> | undefined
  for (const [namedBy, commit] of commits) {
    const generation = firstCommitOf(commit) - 1
    if (generation <= (newest?.generation ?? 0)) continue
    if (documentsOf(commit).every(({ key }) => isFine(key))) newest = { generation, namedBy }
  }
  return newest
}

/** Returns the checkpoints with pages that cannot be read, and these. */
async function surveyDocuments(
  storage: Storage,
  backupId: string,
  commits: readonly KnownCommit[],
  bad: Map<string, string>,
  signal: AbortSignal,
): Promise<Map<string, string[]>> {
  const changes = new Map<string, NamedObject>()
  const checkpoints = new Map<string, NonNullable<Commit['checkpoint']>>()
  for (const { checkpoint, rollups, parts } of commits) {
    if (checkpoint) checkpoints.set(checkpoint.key, checkpoint)
    for (const one of [...parts, ...rollups.flatMap(({ documents }) => documents)]) changes.set(one.key, one)
  }
  await runPool(changes.values(), CONCURRENCY, one =>
    noteDamage(one.key, bad, () => readDocument(storage, changePartSchema, one, signal)),
  )
  const pages = new Set<string>()
  const lacking = new Map<string, string[]>()
  for (const ref of checkpoints.values()) {
    await noteDamage(ref.key, bad, async () => {
      const { checkpoint } = await readCheckpoint(storage, backupId, ref, signal)
      for (const page of checkpoint.pages) {
        if (pages.has(page.key)) continue
        pages.add(page.key)
        await noteDamage(page.key, bad, () => readPage(storage, backupId, page, signal))
      }
      const lost = checkpoint.pages.filter(page => bad.has(page.key)).map(({ key }) => key)
      if (lost.length > 0) lacking.set(ref.key, lost)
    })
  }
  return lacking
}

async function noteDamage(key: string, bad: Map<string, string>, read: () => Promise<unknown>): Promise<void> {
  try {
    await read()
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    const at = error.details.key ?? key
    bad.set(at, problemOf(error, at))
    if (at !== key) bad.set(key, `${at} cannot be read`)
  }
}

/** Pure. Numbers that follow one another as ranges, both ends included. */
export function rangesOf(numbers: readonly number[]): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = []
  for (const number of numbers) {
    const last = ranges.at(-1)
    if (last?.to === number - 1) last.to = number
    else ranges.push({ from: number, to: number })
  }
  return ranges
}
