import { type RegistrySnapshot, versionKey } from '../../../archive/registry-model.ts'
import type { DecidingOptions } from './decide-one.ts'
import { orderVersions } from './order-versions.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import { lossNote, type Note } from './restore-step.ts'
import type { Wanted } from './wanted-version.ts'

/** What cannot be brought in any order is left out, and told: a registry cannot have come to hold it by itself. */
export function orderWanted(
  wanted: readonly Wanted[],
  twins: ReadonlyMap<Wanted, Wanted>,
  forceIds: boolean,
): { order: Wanted[]; circular: Wanted[] } {
  const standIns = new Map([...twins].map(([twin, standIn]) => [twin.key, standIn.key]))
  const laterTwins = forceIds ? findLaterTwins(wanted) : new Map<string, string[]>()
  const nodes = wanted
    .filter(one => !twins.has(one))
    .map(one => ({
      wanted: one,
      key: one.key,
      subject: one.subject,
      version: one.source.version,
      id: one.source.id,
      needs: [...one.references.map(({ key }) => standIns.get(key) ?? key), ...(laterTwins.get(one.key) ?? [])],
    }))
  const { order, circular } = orderVersions(nodes)
  return { order: order.map(node => node.wanted), circular: circular.map(node => node.wanted) }
}

export function tellCircular({ subject, source }: Wanted): Note {
  const message = `version ${source.version} of subject ${subject} refers to itself by way of others, and is not restored`
  return lossNote('circular_reference', subject, message)
}

/** What the backup has and the restore leaves out, for those that refer to it. */
export function listNotRestored(
  backup: RegistrySnapshot,
  circular: readonly Wanted[],
  options: RegistryRestoreOptions,
): DecidingOptions['notRestored'] {
  const { schemaTypes } = options
  const others = backup.versions.filter(({ schemaType }) => !schemaTypes.includes(schemaType))
  const byType = others.map(one => {
    const subject = options.subjectMapping.get(one.subject) ?? one.subject
    const why = `is in the backup, but is of type ${one.schemaType}, which schema_types leaves out`
    return [versionKey(subject, one.version), { why, advice: `Name ${one.schemaType} in schema_types` }] as const
  })
  const why = 'is in the backup, but refers to itself by way of others'
  const advice = 'Leave the subject out of backup.subjects'
  return new Map<string, { why: string; advice: string }>([
    ...byType,
    ...circular.map(({ key }) => [key, { why, advice }] as const),
  ])
}

/**
 * By deleted version that live ones refer to: the later ones of its subject with its ID. To register one of them removes
 * what is marked as deleted before it with the same ID. It is marked as soon as it is there, so that they come first.
 */
function findLaterTwins(wanted: readonly Wanted[]): Map<string, string[]> {
  const live = new Set(
    wanted.filter(({ source }) => !source.isDeleted).flatMap(({ references }) => references.map(({ key }) => key)),
  )
  const later = new Map<string, string[]>()
  for (const group of Map.groupBy(wanted, ({ subject, source }) => `${source.id} ${subject}`).values()) {
    for (const one of group.filter(({ key, source }) => source.isDeleted && live.has(key))) {
      const keys = group.filter(({ source }) => source.version > one.source.version).map(({ key }) => key)
      if (keys.length > 0) later.set(one.key, keys)
    }
  }
  return later
}
