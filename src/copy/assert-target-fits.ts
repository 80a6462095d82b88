import { readManifest } from '../archive/catalog.ts'
import { hashOf } from '../archive/hash.ts'
import { registryKey } from '../archive/layout.ts'
import { type NamedObject, sectionObjectsOf } from '../archive/named-objects.ts'
import type { Problem } from '../archive/verify-objects.ts'
import { KafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Sides } from './sides.ts'

export interface TargetState {
  backupId: string
  /** Of the objects of the source, those at the target with the recorded size. */
  existing: readonly NamedObject[]
  /** Those with another size. */
  misfits: readonly Problem[]
  /** The newest generation that is the same on both sides. */
  agreed: number | undefined
}

const CONCURRENCY = 16

/**
 * Refuses a target where something else has the name of an object of the source. Segments and indexes bear the random id
 * of their run, so that their size is enough. The names of schemas are the same in every backup: those that no generation
 * of the target vouches for are read.
 */
export async function assertTargetFits(
  sides: Sides,
  { backupId, existing, misfits, agreed }: TargetState,
  signal: AbortSignal,
): Promise<void> {
  refuse(sides, backupId, misfits)
  const files = existing.filter(({ key }) => isSchema(backupId, key))
  if (files.length === 0) return
  const known = agreed === undefined ? undefined : await readManifest(sides.source, backupId, agreed, signal)
  const vouched = new Map(known && [...sectionObjectsOf(known)].map(({ key, blake3 }) => [key, blake3]))
  const doubtful = files.filter(({ key, blake3 }) => vouched.get(key) !== blake3)
  const problems = await runPool(doubtful, CONCURRENCY, async ({ key, blake3 }) => {
    const isSame = hashOf(await sides.target.read(key, signal)) === blake3
    return isSame ? [] : [{ key, problem: 'it holds something else' }]
  })
  refuse(sides, backupId, problems.flat())
}

function refuse({ target }: Sides, backupId: string, [first, ...others]: readonly Problem[]): void {
  if (first === undefined) return
  const more = others.length === 0 ? '' : ` (the same goes for ${others.length} more)`
  const message = `${first.key} at ${target.location} is not the object of the source: ${first.problem}${more}`
  throw new KafkaBackupError(isSchema(backupId, first.key) ? 'WRITER_CONFLICT' : 'ARCHIVE_DAMAGED', message, {
    help: 'Nothing was written. Remove the object at the target and run the same command again, or copy to another location.',
  })
}

function isSchema(backupId: string, key: string): boolean {
  return key.startsWith(registryKey(backupId, ''))
}
