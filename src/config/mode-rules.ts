import type { Mode } from './mode.ts'
import { type FieldPath, type Problem, valueAt } from './problem.ts'

/** Keys that another mode has, and where a job of this mode says the same. */
const strangers: Record<Mode, readonly (readonly [path: FieldPath, wrong: string])[]> = {
  backup: [
    [['target'], 'belongs to mode: restore; a backup reads from `source`'],
    [['restore'], 'belongs to mode: restore; the settings of a backup are under `backup`'],
  ],
  restore: [
    [['source'], 'belongs to mode: backup; a restore writes to `target`'],
    [['backup'], 'belongs to mode: backup; the settings of a restore are under `restore`'],
    [['retention'], 'belongs to mode: backup; a restore removes nothing'],
    [['target', 'topics'], 'belongs to mode: backup; the topics of a restore are under `restore.topics`'],
    [['target', 'client_rack'], 'belongs to mode: backup, whose reads may go to a near replica; writes may not'],
  ],
}

/** Sections of another mode: unknown here, but no slip of the pen. */
export function checkModeRules(tree: unknown, mode: Mode): Problem[] {
  return strangers[mode]
    .filter(([path]) => valueAt(tree, path) !== undefined)
    .map(([path, wrong]) => ({ path, about: 'field', wrong }))
}

/** A backup there could be neither pruned nor deleted. Jobs of other modes write none. */
export function checkNewId(tree: unknown): Problem[] {
  const path = ['backup_id']
  if (valueAt(tree, path) !== 'offset-snapshots') return []
  return [{ path, about: 'value', wrong: 'is where snapshots of consumer groups are kept; take another id' }]
}

/** What is said to a command that runs jobs of another mode. */
export function refuseMode(mode: Mode, expected: Mode): Problem {
  const wrong = `is a job for \`kafka-backup ${mode}\`, not for this command, which needs mode: ${expected}`
  return { path: ['mode'], about: 'value', wrong }
}
