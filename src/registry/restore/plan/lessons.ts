import { createHash } from 'node:crypto'
import type { SchemaVersion } from '../../../archive/registry-model.ts'
import type { JournaledLessons, LessonServer, Lessons, RefusedSetting, Scope } from './restore-step.ts'
import { canonical, isSame } from './same-schema.ts'

export const noLessons: Lessons = {
  drops: [],
  droppedBefore: [],
  refused: new Map(),
  heldAs: new Map(),
  undeletable: new Map(),
  settings: [],
}

export function mergeLessons(a: Lessons, b: Lessons): Lessons {
  return {
    drops: [...new Set([...a.drops, ...b.drops])],
    droppedBefore: [...new Set([...a.droppedBefore, ...b.droppedBefore])],
    refused: new Map([...a.refused, ...b.refused]),
    heldAs: new Map([...a.heldAs, ...b.heldAs]),
    undeletable: new Map([...a.undeletable, ...b.undeletable]),
    settings: [...a.settings, ...b.settings.filter(one => !findRefusal(a, one.scope, one.setting))],
  }
}

/**
 * Pure. What earlier runs have learned that still holds. A registry of another version or vendor may keep what its predecessor
 * dropped or refused, so it is asked again.
 */
export function lessonsFor(server: LessonServer, learned: readonly JournaledLessons[]): Lessons {
  return learned
    .map(({ server: of, lessons }) =>
      of?.flavour === server.flavour && of.version === server.version
        ? lessons
        : { ...noLessons, droppedBefore: lessons.drops },
    )
    .reduce(mergeLessons, noLessons)
}

export function countLessons({ drops, refused, heldAs, undeletable, settings }: Lessons): number {
  return drops.length + refused.size + heldAs.size + undeletable.size + settings.length
}

/** What is known of it, where the scope does not take the setting. */
export function findRefusal(
  { settings }: Pick<Lessons, 'settings'>,
  scope: Scope,
  setting: RefusedSetting['setting'],
): RefusedSetting | undefined {
  return settings.find(one => isSame({ ...one.scope }, { ...scope }) && isSame(one.setting, setting))
}

type Content = Pick<SchemaVersion, 'schemaType' | 'schema' | 'references'>

/** Pure. The same for the same two schemas, the one of the backup and the one by which the registry holds it. */
export function printHeld(ours: Content, theirs: Content): string {
  const parts = [ours, theirs].map(({ schemaType, schema, references }) => [
    ...[schemaType, schema],
    references.map(({ name, subject, version }) => [name, subject, version]),
  ])
  return createHash('sha256').update(canonical(parts)).digest('hex').slice(0, 16)
}
