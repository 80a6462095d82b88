import { damaged } from '../damage.ts'
import type { NamedObject } from '../manifest.ts'
import { refuseRepeats } from '../refuse-repeats.ts'
import type { Checkpoint, Commit, PageRef } from './documents.ts'
import { isLogKey, type LogObject } from './keys.ts'

/** Roll-ups follow the checkpoint and one another without a hole, and end before the commit. */
export function assertChain(
  { backup_id, generation, checkpoint, rollups, parts, previous }: Commit,
  key: string,
): void {
  let next = (checkpoint?.generation ?? 0) + 1
  for (const { from, to } of rollups) {
    if (from !== next || to < from)
      throw damaged(key, `is damaged: its roll-ups continue with ${from} instead of ${next}`)
    next = to + 1
  }
  if (next > generation) throw damaged(key, `is damaged: it names a state of generation ${next - 1}`)
  if (next < generation && !previous) throw damaged(key, 'is damaged: it does not name the commit before it')
  if (checkpoint) assertKey(checkpoint, backup_id, 'checkpoint', key)
  for (const { documents } of rollups) for (const one of documents) assertKey(one, backup_id, 'rollup', key)
  for (const one of parts) assertKey(one, backup_id, 'change', key)
  // A small commit that names a large document many times would keep a reader busy for years.
  const named = [...rollups.flatMap(({ documents }) => documents), ...parts]
  refuseRepeats(
    'the document',
    named.map(one => one.key),
    key,
  )
}

/** That a key which the document `at` names is of this class, in this backup. */
export function assertKey({ key }: NamedObject, backupId: string, kind: LogObject, at: string): void {
  if (isLogKey(key, backupId, kind)) return
  throw damaged(at, `is damaged: it names ${JSON.stringify(key.slice(0, 200))}, which is not a ${kind}`)
}

/** What a checkpoint names is of this backup, is named once, and is in order. */
export function assertNamed({ backup_id, parts, pages }: Checkpoint, at: string): void {
  for (const one of [...parts, ...pages]) assertKey(one, backup_id, 'checkpoint', at)
  const named = [...parts, ...pages].map(({ key }) => key)
  refuseRepeats('the document', named, at)
  assertPageOrder(pages, at)
}

/** Every list is in one page at most. */
function assertPageOrder(pages: readonly PageRef[], at: string): void {
  for (const [i, { first, last }] of pages.entries()) {
    const before = pages[i - 1]
    if (first <= last && (!before || before.last < first)) continue
    throw damaged(at, `is damaged: its page ${i + 1} is out of order`)
  }
}
