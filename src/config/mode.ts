import { textOf } from '../lib/json.ts'
import { leaf } from './leaf.ts'
import { nearMatch } from './near-match.ts'
import { type FieldPath, isMap, type Problem, valueAt } from './problem.ts'

export const modes = ['backup', 'restore'] as const

export type Mode = (typeof modes)[number]

/** The field `mode` of a job of that mode; `modeOf` says which one a job is checked as. */
export function modeField<const M extends Mode>(mode: M) {
  return leaf<M, M>({
    description: 'What the job does, and with it which sections it has.',
    type: 'text',
    allowed: modes.join(', '),
    json: { const: mode },
    read: (value, complain) => {
      if (value === mode) return mode
      complain({ wrong: 'is not known', near: nearMatch(writtenAs(value), modes) })
      return undefined
    },
  })
}

/** The mode that a job has or, where the field is missing or mistyped, seems to be meant for. */
export function modeOf(tree: unknown): Mode {
  const written = writtenAs(valueAt(tree, ['mode']))
  const meant = modes.find(mode => mode === written) ?? modes.find(mode => nearMatch(written, [mode]) !== undefined)
  if (meant !== undefined) return meant
  const has = (section: string) => isMap(tree) && Object.hasOwn(tree, section)
  return has('target') || (has('restore') && !has('source')) ? 'restore' : 'backup'
}

/** A list of one may be meant for what is in it. */
function writtenAs(value: unknown): string {
  return textOf(Array.isArray(value) ? value[0] : value)
}

/** Keys that another mode has, and where a job of this mode says the same. */
const fieldsOfOtherModes: Record<Mode, readonly (readonly [path: FieldPath, wrong: string])[]> = {
  backup: [
    [['target'], 'belongs to mode: restore; a backup reads from `source`'],
    [['restore'], 'belongs to mode: restore; the settings of a backup are under `backup`'],
  ],
  restore: [
    [['source'], 'belongs to mode: backup; a restore writes to `target`'],
    [['backup'], 'belongs to mode: backup; the settings of a restore are under `restore`'],
    [['retention'], 'belongs to mode: backup; a restore removes nothing'],
    [['monitoring'], 'belongs to mode: backup; `status` is about backups'],
    [['target', 'topics'], 'belongs to mode: backup; the topics of a restore are under `restore.topics`'],
    [['target', 'client_rack'], 'belongs to mode: backup, whose reads may go to a near replica; writes may not'],
  ],
}

/** Sections of another mode: unknown here, but not typing errors. */
export function checkModeRules(tree: unknown, mode: Mode): Problem[] {
  return fieldsOfOtherModes[mode]
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
