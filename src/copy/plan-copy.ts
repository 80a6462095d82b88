import type { NamedObject } from '../archive/named-objects.ts'
import type { Problem } from '../archive/verify-objects.ts'
import type { PlannedObject } from './sides.ts'
import type { SurveyedGeneration } from './survey-source.ts'

export interface PlannedObjects {
  /** In the order of the generations that name them first. */
  objects: PlannedObject[]
  /** At the target with the recorded size. */
  existing: NamedObject[]
  /** At the target with another size. */
  misfits: Problem[]
}

/**
 * Pure. What of the objects of the source is to be copied, by the sizes of those at the target. `missing` are the
 * generations to be committed; both lists ascend.
 */
export function planObjects(
  generations: readonly SurveyedGeneration[],
  missing: readonly number[],
  sizes: ReadonlyMap<string, number>,
  verifyExisting: boolean,
): PlannedObjects {
  const plan: PlannedObjects = { objects: [], existing: [], misfits: [] }
  let next = 0
  for (const { generation, fresh } of generations) {
    while ((missing[next] ?? generation) < generation) next++
    const neededBy = missing[next]
    for (const object of fresh) {
      const size = sizes.get(object.key)
      if (size === undefined) plan.objects.push({ ...object, neededBy, action: 'copy' })
      else if (size !== object.size) {
        plan.misfits.push({ key: object.key, problem: `it has ${size} bytes instead of ${object.size}` })
      } else {
        plan.existing.push(object)
        if (verifyExisting) plan.objects.push({ ...object, neededBy, action: 'check' })
      }
    }
  }
  return plan
}
