import { type Commit, MAX_LEVEL, type RollupRef } from './documents.ts'
import { firstCommitOf } from './read-commit.ts'

/** So many documents of a level become one of the next. */
export const ROLL_UP = 8
/** A reader opens a generation with at most so many documents, and the pages of its checkpoint. */
const MAX_DOCUMENTS = 28
/** Roll-ups may be so many times as large as their checkpoint. */
const MAX_ROLLUP_RATIO = 2
/** Below this a checkpoint is not worth an object. */
const MIN_ROLLUP_BYTES = 256 << 10

/** What the commits of a generation and the next one name. */
export type Chain = Pick<Commit, 'checkpoint' | 'rollups'>

/** Commits, or roll-ups of one level, that are to become one. */
export interface DueRollup {
  from: number
  to: number
  level: number
  /** The roll-ups that it replaces; none where it is made of commits. */
  sources: RollupRef[]
}

/** Pure. The roll-up that is to be made next; undefined where none is due. `newest` is the newest generation committed. */
export function dueRollup(chain: Chain, newest: number): DueRollup | undefined {
  const first = firstCommitOf(chain)
  if (newest - first + 1 >= ROLL_UP) return { from: first, to: first + ROLL_UP - 1, level: 1, sources: [] }
  const level = chain.rollups.at(-1)?.level ?? 0
  const start = chain.rollups.findLastIndex(one => one.level !== level) + 1
  const sources = chain.rollups.slice(start, start + ROLL_UP)
  const [begin, end] = [sources[0], sources.at(-1)]
  if (sources.length < ROLL_UP || !begin || !end) return undefined
  return { from: begin.from, to: end.to, level: Math.min(level + 1, MAX_LEVEL), sources }
}

/** Pure. The chain with a roll-up in the place of what it was made of. */
export function withRollup(chain: Chain, due: DueRollup, documents: RollupRef['documents']): Chain {
  const { from, to, level } = due
  const before = chain.rollups.filter(one => one.to < from)
  const behind = chain.rollups.filter(one => one.from > to)
  return { ...chain, rollups: [...before, { from, to, level, documents }, ...behind] }
}

/** Pure. Whether readers would be better served by a checkpoint of the newest generation. */
export function isCheckpointDue(chain: Chain, newest: number, checkpointBytes: number): boolean {
  const rollups = chain.rollups.flatMap(({ documents }) => documents)
  const commits = newest - firstCommitOf(chain) + 1
  const bytes = rollups.reduce((sum, { size }) => sum + size, 0)
  const isLarge = bytes > Math.max(MIN_ROLLUP_BYTES, MAX_ROLLUP_RATIO * checkpointBytes)
  return isLarge || rollups.length + commits + 1 > MAX_DOCUMENTS
}
