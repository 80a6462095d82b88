import type { KafkaBackupError } from '../../errors.ts'
import { type AvoidedDamage, problemOf } from '../damage.ts'
import { commitKey } from './keys.ts'
import type { OpenedGeneration } from './open-generation.ts'

/** Pure. The damage that a generation was opened without. */
export function avoidedBy({ commit, ref, damage, lost }: OpenedGeneration): AvoidedDamage[] {
  const documents = lost.map(error => {
    const key = error.details.key ?? ref.key
    return { key, problem: problemOfAvoided(key, problemOf(error, key)), isNeeded: true }
  })
  if (!damage) return documents
  const key = commitKey(commit.backup_id, commit.generation)
  return [...documents, { key, problem: problemOfReplaced(damage, key, ref.key), isNeeded: false }]
}

/** Of a damaged checkpoint or roll-up. */
export function problemOfAvoided(key: string, problem: string): string {
  const instead = key.includes('/rollups/')
    ? 'the commits that it was made of are read instead'
    : 'an older checkpoint and the commits behind it are read instead'
  return `${problem}; ${instead}, as long as they are there`
}

/** Of a damaged commit that retention has begun to replace. */
export function problemOfReplaced(damage: KafkaBackupError, key: string, kept: string): string {
  const problem = problemOf(damage, key)
  return `${problem}; its generation is still readable through ${kept}, and the prune that removes old commits removes this one`
}
