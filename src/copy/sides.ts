import type { NamedObject } from '../archive/manifest.ts'
import type { Problem } from '../archive/verify-objects.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import type { RequestedGeneration } from './choose-generations.ts'

/** Where a copy comes from and goes to. Both show what they hold in plain: how each encrypts is below them. */
export interface Sides {
  source: Storage
  target: Storage
  /** The manifest as the target is to have it, where that encrypts in another way; as it is where this is not given. */
  adaptManifest?: (bytes: Buffer) => Buffer
  /** Fails where the lease on the target was not renewed in time: what was copied may have been removed since. */
  assertHeld?: () => void
}

export interface CopyOptions {
  generation: RequestedGeneration
  /** Reads what the target holds already, too, and compares its hashes. */
  verifyExisting: boolean
  dryRun: boolean
  onProgress: OnProgress
}

/** The work for one backup. Nothing is written yet. */
export interface CopyPlan {
  backupId: string
  /** To be committed at the target, ascending, each when the objects that it is the first to name are settled. */
  generations: { generation: number; isDamaged: boolean }[]
  /** In the order of the generations. */
  objects: PlannedObject[]
  /** The target has them, with the right size. */
  existing: { objects: number; bytes: number }
  /** Generations that are older than all of the target. */
  older: number[]
  /** The newest at the target before. */
  newestThere: number | undefined
  problems: Problem[]
}

export interface PlannedObject extends NamedObject {
  /** The first of the generations to be committed that may name it; undefined where only earlier ones do. */
  neededBy: number | undefined
  /** `check`: it is at the target, and its bytes are to be compared. */
  action: 'copy' | 'check'
}

export interface CopyReport {
  backup_id: string
  from: string
  to: string
  ok: boolean
  dry_run: boolean
  /** Committed by this run; those that would be, for a dry run. */
  generations: number[]
  /** The newest at the target now, or after the run that was tried out; null where there is none. */
  newest_generation: number | null
  objects: number
  bytes: number
  existing_objects: number
  existing_bytes: number
  /** What was there was read and compared, too. */
  existing_verified: boolean
  /** Generations of version 1 at the source that are older than all of the target, and are left out. Of version 2 a run copies one anyway. */
  older_generations: number[]
  problems: Problem[]
  /** Damaged objects that were read around, on either side. */
  warnings: string[]
}
