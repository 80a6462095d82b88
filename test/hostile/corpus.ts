import { documents } from './corpus-documents.ts'
import { encrypted } from './corpus-encrypted.ts'
import { keys } from './corpus-keys.ts'
import { log } from './corpus-log.ts'
import { names } from './corpus-names.ts'
import { objects } from './corpus-objects.ts'
import { sizes } from './corpus-sizes.ts'
import { state } from './corpus-state.ts'
import type { Forgery } from './forgery.ts'

export interface HostileItem {
  name: string
  change(archive: Forgery): void
  /** The backup that commands are given; `plain` without it. */
  backupId?: string
  /** `verify --deep` has nothing to object to: what is odd about it is allowed, or is no part of the backup. */
  isAccepted?: true | 'or refused'
}

/** Everything that somebody who may write to the store has been thought to try. */
export const corpus: readonly HostileItem[] = [
  ...keys,
  ...names,
  ...sizes,
  ...documents,
  ...state,
  ...objects,
  ...encrypted,
  ...log,
]
