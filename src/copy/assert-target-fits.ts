import type { Problem } from '../archive/verify-objects.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Sides } from './sides.ts'

/**
 * Refuses a target where something else has the name of an object of the source. The names of all objects contain the random
 * id of the run that wrote them, so a difference in size is what `misfits` has to show.
 */
export function assertTargetFits({ target }: Sides, [first, ...others]: readonly Problem[]): void {
  if (first === undefined) return
  const more = others.length === 0 ? '' : ` (the same goes for ${others.length} more)`
  const message = `${first.key} at ${target.location} is not the object of the source: ${first.problem}${more}`
  throw new KafkaBackupError('ARCHIVE_DAMAGED', message, {
    help: 'Nothing was written. Remove the object at the target and run the same command again, or copy to another location.',
  })
}
