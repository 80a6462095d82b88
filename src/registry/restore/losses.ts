import { type LossKind, lossKindNames, lossKinds } from '../loss-kinds.ts'
import type { LossNote, Note } from './plan/restore-step.ts'

/** What the target does not keep, of one kind. */
export interface Loss {
  kind: LossKind
  /** In a sentence. */
  meaning: string
  /** Those that it is about; none where it is about the registry as a whole. */
  subjects: string[]
  notes: LossNote[]
  /** The job lists it in `restore.accept_loss`. */
  isAccepted: boolean
}

export interface Losses {
  notes: readonly Note[]
  acceptLoss: readonly LossKind[]
}

/** Pure. By kind, in the order of the list of kinds. */
export function lossesOf({ notes, acceptLoss }: Losses): Loss[] {
  const lossy = notes.filter(note => note.kind === 'lossy')
  return lossKindNames.flatMap(kind => {
    const some = lossy.filter(({ loss }) => loss === kind)
    if (some.length === 0) return []
    const subjects = [...new Set(some.flatMap(({ subject }) => subject ?? []))]
    return [{ kind, meaning: lossKinds[kind], subjects, notes: some, isAccepted: acceptLoss.includes(kind) }]
  })
}

/** The kinds of loss that make a restore end with exit code 4. */
export function openLosses(losses: Losses): LossKind[] {
  return lossesOf(losses)
    .filter(({ isAccepted }) => !isAccepted)
    .map(({ kind }) => kind)
}
