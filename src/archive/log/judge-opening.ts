import type { NamedObject } from '../manifest.ts'
import type { Commit } from './documents.ts'
import { commitKey } from './keys.ts'
import { MAX_LOST_CHECKPOINTS } from './open-generation.ts'
import { firstCommitOf, hashesOf, type ReadCommit } from './read-commit.ts'

/** A commit that can be read, as far as other generations depend on it. */
export interface KnownCommit extends Pick<Commit, 'previous' | 'checkpoint' | 'rollups' | 'parts'> {
  key: string
  /** Its own, and those of the commits whose place it takes. */
  hashes: readonly string[]
}

/**
 * Holds what commits name once. Each names its checkpoint and a dozen roll-ups again, and a log without retention has hundreds of thousands
 * of commits.
 */
export class SharedNames {
  readonly #known = new Map<string, unknown>()

  known({ commit, ref }: ReadCommit): KnownCommit {
    const { previous, parts } = commit
    const [checkpoint, rollups] = [this.#share(commit.checkpoint), commit.rollups.map(one => this.#share(one))]
    return { previous, checkpoint, rollups, parts, key: ref.key, hashes: hashesOf({ commit, ref }) }
  }

  #share<T>(named: T): T {
    const text = JSON.stringify(named)
    if (!this.#known.has(text)) this.#known.set(text, named)
    return this.#known.get(text) as T
  }
}

/** What was read of a log. */
interface ReadLog {
  commits: ReadonlyMap<number, KnownCommit>
  /** What is wrong with documents, by key. */
  bad: Map<string, string>
  /** Checkpoints with pages that cannot be read, and these. */
  lacking: ReadonlyMap<string, readonly string[]>
}

interface Judged {
  verdict: 'closed' | 'open' | 'through commits'
  /** The one whose pages a reader uses. */
  checkpoint: string | undefined
  /** How many damaged ones come before it. */
  lostCheckpoints: number
}

const closed: Judged = { verdict: 'closed', checkpoint: undefined, lostCheckpoints: 0 }

/** Whether everything can be read that opening each generation takes, as a reader does it. Notes commits that are missing, or are others. */
export function judgeAll(generations: readonly number[], log: ReadLog, backupId: string): Map<number, Judged> {
  const judged = new Map<number, Judged>()
  for (const generation of generations) judged.set(generation, judgeOpening(generation, log, judged, backupId))
  return judged
}

function judgeOpening(generation: number, log: ReadLog, judged: ReadonlyMap<number, Judged>, backupId: string): Judged {
  const { commits, bad } = log
  const own = commits.get(generation)
  if (!own || !isIntact(generation, commits, bad)) return closed
  const lost = own.rollups.findIndex(({ documents }) => documents.some(({ key }) => bad.has(key)))
  const chain = lost < 0 ? own : { ...own, rollups: own.rollups.slice(0, lost) }
  const base = judgeBase(own, log, judged)
  let isFine = base.verdict !== 'closed'
  let expected = own.previous
  for (let before = generation - 1; before >= firstCommitOf(chain); before--) {
    const commit = commits.get(before)
    const key = commitKey(backupId, before)
    if (commit?.key !== key || commit.hashes.at(-1) !== expected?.blake3) {
      const isOther = commit?.key === key
      const problem = isOther ? 'it is not the commit that the next one follows' : 'it is missing'
      // Those that a roll-up covers may be gone, and nothing is wrong with that.
      if (!bad.has(key) && before >= firstCommitOf(own)) bad.set(key, problem)
      return closed
    }
    isFine &&= isIntact(before, commits, bad)
    expected = commit.previous
  }
  if (!isFine) return closed
  return lost < 0 ? base : { ...base, verdict: 'through commits' }
}

/** The checkpoint of a generation, or the generation that it was made of, where only the commit behind that one shows that it is this one. */
function judgeBase(
  { checkpoint }: KnownCommit,
  { commits, bad, lacking }: ReadLog,
  judged: ReadonlyMap<number, Judged>,
): Judged {
  const own: Judged = { verdict: 'open', checkpoint: checkpoint?.key, lostCheckpoints: 0 }
  if (!checkpoint || !(bad.has(checkpoint.key) || lacking.has(checkpoint.key))) return own
  // With lost pages alone, it can still be opened.
  const otherwise = bad.has(checkpoint.key) ? closed : own
  const { generation } = checkpoint
  const follows = commits.get(generation + 1)?.previous?.blake3
  const older = judged.get(generation) ?? closed
  const isSame = follows !== undefined && commits.get(generation)?.hashes.includes(follows)
  const isReadable = older.verdict !== 'closed' && !lacking.has(older.checkpoint ?? '')
  if (!isSame || !isReadable || older.lostCheckpoints >= MAX_LOST_CHECKPOINTS) return otherwise
  return { ...older, verdict: 'through commits', lostCheckpoints: older.lostCheckpoints + 1 }
}

/** The commit can be read, with all parts of its change. */
export function isIntact(
  generation: number,
  commits: ReadonlyMap<number, KnownCommit>,
  bad: ReadonlyMap<string, string>,
): boolean {
  const commit = commits.get(generation)
  return commit?.parts.every(({ key }) => !bad.has(key)) ?? false
}

/** What a reader needs besides commits. */
export function documentsOf({ checkpoint, rollups }: Pick<Commit, 'checkpoint' | 'rollups'>): NamedObject[] {
  return [...(checkpoint ? [checkpoint] : []), ...rollups.flatMap(({ documents }) => documents)]
}
