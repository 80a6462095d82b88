import { emptyState } from '../../../src/archive/log/change.ts'
import { CommitLog } from '../../../src/archive/log/commit-log.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { type FullState, randomFrom, randomStep } from './random-state.ts'

const { signal } = new AbortController()
const facts = { tool_version: '', run: 'r', complete: true, created_at: '', started_at: '' }

/** A log of backup `b` with so many commits; the state after each, and that of nothing before them. */
export async function longLog(storage: Storage, commits: number, seed = 17): Promise<FullState[]> {
  const random = randomFrom(seed)
  let names = 0
  const log = new CommitLog(storage, 'b', () => `w${names++}`)
  const states: FullState[] = [{ ...emptyState, segments: new Map() }]
  for (let i = 1; i <= commits; i++) {
    const before = states.at(-1)
    if (!before) break
    const { after, change } = randomStep(random, before)
    await log.commit(facts, change, signal)
    await log.tidy(signal)
    states.push(after)
  }
  return states
}
