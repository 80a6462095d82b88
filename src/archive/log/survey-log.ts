import { hasCode, type KafkaBackupError } from '../../errors.ts'
import { runPool } from '../../lib/pool.ts'
import type { Storage } from '../../storage/storage.ts'
import { problemOf } from '../damage.ts'
import type { NamedObject } from '../manifest.ts'
import { readDocument } from './document.ts'
import { type Commit, changePartSchema } from './documents.ts'
import { commitKey } from './keys.ts'
import { firstCommitOf, hashesOf, readCheckpoint, readCommit } from './open-generation.ts'
import { readPage } from './segment-lists.ts'

const CONCURRENCY = 8

export interface LogProblem {
  key: string
  problem: string
}

/** A commit that can be read, as far as other generations depend on it. */
interface KnownCommit extends Pick<Commit, 'previous' | 'checkpoint' | 'rollups' | 'parts'> {
  key: string
  /** Its own, and those of the commits whose place it takes. */
  hashes: readonly string[]
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
  /** Those that can be opened, while a roll-up that they name is damaged: the commits that it was made of are read instead. */
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
  const kept = new Map<number, { key: string; damage: KafkaBackupError; by: string }>()
  await runPool(generations, CONCURRENCY, async generation => {
    const key = commitKey(backupId, generation)
    await noteDamage(key, bad, async () => {
      const { commit, ref, damage } = await readCommit(storage, backupId, generation, signal)
      if (damage) kept.set(generation, { key, damage, by: ref.key })
      const { previous, checkpoint, rollups, parts } = commit
      const hashes = hashesOf({ commit, ref })
      commits.set(generation, { previous, checkpoint, rollups, parts, key: ref.key, hashes })
    })
  })
  removeExchanged(generations, commits, bad)
  const lacking = await surveyDocuments(storage, backupId, [...commits.values()], bad, signal)
  const judged = new Map(generations.map(one => [one, judgeOpening(one, commits, bad, backupId)]))
  const closed = new Set(generations.filter(one => judged.get(one) === 'closed'))
  const throughCommits = generations.filter(one => judged.get(one) === 'through commits')
  const lacksPage = (one: number) => lacking.has(commits.get(one)?.checkpoint?.key ?? '')
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
  const healed = rollupsOf(throughCommits, commits)
  const needed = rollupsOf(closed, commits)
  const problems = [...bad].map(([key, problem]) => {
    if (!healed.has(key) || needed.has(key)) return { key, problem }
    return { key, problem: problemOfRollup(problem) }
  })
  const isReadable = (one: number) => isIntact(one, commits, bad)
  return { generations, unreadable, throughCommits, problems, replaced, isReadable, bases }
}

/** Of a damaged roll-up. */
export function problemOfRollup(problem: string): string {
  return `${problem}; the commits that it was made of are read instead, as long as they are there`
}

/** The documents of all roll-ups that generations name. */
function rollupsOf(generations: Iterable<number>, commits: ReadonlyMap<number, KnownCommit>): Set<string> {
  const named = [...generations].flatMap(one => commits.get(one)?.rollups ?? [])
  return new Set(named.flatMap(({ documents }) => documents.map(({ key }) => key)))
}

/** Of a damaged commit that retention has begun to replace. */
export function problemOfReplaced(damage: KafkaBackupError, key: string, kept: string): string {
  const problem = problemOf(damage, key)
  return `${problem}; its generation is still readable through ${kept}, and the prune that removes old commits removes this one`
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

/** What a reader needs besides commits. */
function documentsOf({ checkpoint, rollups }: Pick<Commit, 'checkpoint' | 'rollups'>): NamedObject[] {
  return [...(checkpoint ? [checkpoint] : []), ...rollups.flatMap(({ documents }) => documents)]
}

/** Returns the checkpoints with a page that cannot be read. */
async function surveyDocuments(
  storage: Storage,
  backupId: string,
  commits: readonly KnownCommit[],
  bad: Map<string, string>,
  signal: AbortSignal,
): Promise<Set<string>> {
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
  const lacking = new Set<string>()
  for (const ref of checkpoints.values()) {
    await noteDamage(ref.key, bad, async () => {
      const { checkpoint } = await readCheckpoint(storage, backupId, ref, signal)
      for (const page of checkpoint.pages) {
        if (pages.has(page.key)) continue
        pages.add(page.key)
        await noteDamage(page.key, bad, () => readPage(storage, backupId, page, signal))
      }
      if (checkpoint.pages.some(page => bad.has(page.key))) lacking.add(ref.key)
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

/** The commit can be read, with all parts of its change. */
function isIntact(
  generation: number,
  commits: ReadonlyMap<number, KnownCommit>,
  bad: ReadonlyMap<string, string>,
): boolean {
  const commit = commits.get(generation)
  return commit?.parts.every(({ key }) => !bad.has(key)) ?? false
}

/** Whether everything can be read that opening the generation takes. Notes commits that are missing, or are others. */
function judgeOpening(
  generation: number,
  commits: ReadonlyMap<number, KnownCommit>,
  bad: Map<string, string>,
  backupId: string,
): 'closed' | 'open' | 'through commits' {
  const own = commits.get(generation)
  if (!own || !isIntact(generation, commits, bad)) return 'closed'
  const lost = own.rollups.findIndex(({ documents }) => documents.some(({ key }) => bad.has(key)))
  const chain = lost < 0 ? own : { ...own, rollups: own.rollups.slice(0, lost) }
  let isFine = documentsOf(chain).every(({ key }) => !bad.has(key))
  let expected = own.previous
  for (let before = generation - 1; before >= firstCommitOf(chain); before--) {
    const commit = commits.get(before)
    const key = commitKey(backupId, before)
    if (commit?.key !== key || commit.hashes.at(-1) !== expected?.blake3) {
      const isOther = commit?.key === key
      const problem = isOther ? 'it is not the commit that the next one follows' : 'it is missing'
      // Those that a roll-up covers may be gone, and nothing is wrong with that.
      if (!bad.has(key) && before >= firstCommitOf(own)) bad.set(key, problem)
      return 'closed'
    }
    isFine &&= isIntact(before, commits, bad)
    expected = commit.previous
  }
  return !isFine ? 'closed' : lost < 0 ? 'open' : 'through commits'
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
