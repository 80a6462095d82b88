import { hasCode, type KafkaBackupError } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import type { AvoidedDamage } from '../damage.ts'
import type { Segment } from '../manifest.ts'
import { avoidedBy } from './avoided-damage.ts'
import { type LostPages, type OpenedGeneration, openCommit } from './open-generation.ts'
import type { ReadCommit } from './read-commit.ts'
import type { ListRow } from './row-change.ts'
import { SegmentLists } from './segment-lists.ts'

/**
 * The segments of a generation for a reader. Pages are read when they are needed; where one of them is damaged, the generation is opened again
 * from an older checkpoint and the commits behind it, as for a damaged checkpoint.
 */
export class ReaderLists {
  /** What was read around; pages are added when that is found out. */
  readonly avoided: AvoidedDamage[]
  readonly #storage: Storage
  readonly #read: ReadCommit
  #lists: SegmentLists
  #lostPages: LostPages = new Map()
  /** Pages that nothing holds the content of. */
  readonly #unreadable = new Map<string, KafkaBackupError>()
  #opening: { done: Promise<void>; signal: AbortSignal } | undefined

  constructor(storage: Storage, opened: OpenedGeneration) {
    const { commit, ref, damage } = opened
    this.#storage = storage
    this.#read = { commit, ref, ...(damage && { damage }) }
    this.#lists = listsOf(storage, opened)
    this.avoided = avoidedBy(opened)
  }

  /** See `SegmentLists.read`. */
  async read(
    list: string,
    row: Pick<ListRow, 'segments'> | undefined,
    signal: AbortSignal,
  ): Promise<readonly Segment[]> {
    for (;;) {
      const lists = this.#lists
      try {
        return await lists.read(list, row, signal)
      } catch (error) {
        if (!hasCode(error, 'ARCHIVE_DAMAGED') || !lists.hasPage(error.details.key)) throw error
        await this.#openWithout(error, lists, signal)
      }
    }
  }

  /** Others that read at the same time wait for the one that has begun. */
  async #openWithout(error: KafkaBackupError, lists: SegmentLists, signal: AbortSignal): Promise<void> {
    const known = this.#unreadable.get(error.details.key ?? '')
    if (known) throw known
    if (lists !== this.#lists) return
    this.#opening ??= { done: this.#open(error, signal), signal }
    const { done, signal: first } = this.#opening
    try {
      await done
    } catch (reason) {
      // The one that began has stopped, and this one has not.
      if (!first.aborted || signal.aborted) throw reason
    }
  }

  async #open(error: KafkaBackupError, signal: AbortSignal): Promise<void> {
    const page = error.details.key ?? ''
    const lostPages = new Map([...this.#lostPages, [page, error]])
    try {
      const opened = await openCommit(this.#storage, this.#read, signal, { lostPages })
      this.#lists = listsOf(this.#storage, opened)
      this.#lostPages = lostPages
      this.avoided.splice(0, this.avoided.length, ...avoidedBy(opened))
    } catch (reason) {
      if (hasCode(reason, 'ARCHIVE_DAMAGED')) this.#unreadable.set(page, reason)
      throw reason
    } finally {
      this.#opening = undefined
    }
  }
}

/** Without the rows, and the text that they come from: a manifest has them. */
function listsOf(storage: Storage, { commit, ref, pending, state, checkpoint }: OpenedGeneration): SegmentLists {
  return new SegmentLists(storage, {
    ...{ commit, ref, pending },
    state: { topics: state.topics },
    checkpoint: { pages: checkpoint?.pages ?? [] },
  })
}
