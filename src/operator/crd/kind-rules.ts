import type { CelRule } from '../resource/open-api.ts'
import { type Controller, triggerAnnotation } from '../resource/resource.ts'

/** Of a backup with that name and mode full; a time of 17 characters comes behind it. */
const maxFullIdLength = 183
const maxIdLength = 200

/** Rules about a whole resource, its name and its status too. */
export function kindRules(controller: Controller, apiGroup: string, fields: readonly string[]): CelRule[] {
  return [
    staysAsItWas(controller, apiGroup, fields),
    ...(controller === 'backup' ? [placeStays, ...backupIdRules] : []),
  ]
}

/**
 * What ran once and has ended tells by its spec what was run. Where a backup goes on (a schedule, a continuous one) the
 * spec stays open; so does one that failed before it could run, which has no completion time.
 */
function staysAsItWas(controller: Controller, apiGroup: string, fields: readonly string[]): CelRule {
  const isOver =
    "has(oldSelf.status) && has(oldSelf.status.completionTime) && has(oldSelf.status.phase) && oldSelf.status.phase in ['Completed', 'Failed']"
  const goesOn =
    '(has(oldSelf.spec.schedule) || (has(oldSelf.spec.backup) && has(oldSelf.spec.backup.continuous) && oldSelf.spec.backup.continuous))'
  // Whether the data goes with the resource is decided at its end.
  const isSame = fields
    .filter(name => name !== 'deletionPolicy')
    .map(isSameField)
    .join(' && ')
  const rule =
    controller === 'backup' ? `!(${isOver}) || ${goesOn} || (${isSame})` : `!(${isOver}) || self.spec == oldSelf.spec`
  return {
    rule,
    message: `this run is finished, and its spec stays as it was: make a new resource, or annotate this one with ${triggerAnnotation(apiGroup)} to run it again`,
    fieldPath: '.spec',
    reason: 'FieldValueForbidden',
  }
}

function isSameField(name: string): string {
  const [now, before] = [`self.spec.${name}`, `oldSelf.spec.${name}`]
  return `(has(${now}) ? has(${before}) && ${now} == ${before} : !has(${before}))`
}

/** What `deletionPolicy: Delete` has to find again. */
const place = ['backend', 'bucket', 'container', 'account', 'prefix', 'pvc'].map(name => `storage.${name}`)

/** Backups that a run may have made must not be lost sight of by whoever is to remove them. */
const placeStays: CelRule = {
  rule: `self.spec.deletionPolicy != 'Delete' || oldSelf.spec.deletionPolicy != 'Delete' || !has(oldSelf.status) || !has(oldSelf.status.startTime) || (${['backupId', ...place].map(isSameField).join(' && ')})`,
  message:
    'with deletionPolicy Delete the place of the backups and backupId stay as they are, since those made so far would be left behind: set deletionPolicy to Retain first, or make a new resource',
  fieldPath: '.spec.deletionPolicy',
  reason: 'FieldValueForbidden',
}

const backupIdRules: CelRule[] = [
  {
    rule: `has(self.spec.backupId) || size(self.metadata.name) <= (self.spec.mode == 'full' ? ${maxFullIdLength} : ${maxIdLength})`,
    message: `the name of the resource is too long to name its backups: give a backupId of at most ${maxIdLength} characters, or ${maxFullIdLength} with mode full`,
    fieldPath: '.spec.backupId',
  },
  {
    rule: `!has(self.spec.backupId) || self.spec.mode != 'full' || size(self.spec.backupId) <= ${maxFullIdLength}`,
    message: `with mode full the time of each run is put behind it: at most ${maxFullIdLength} characters`,
    fieldPath: '.spec.backupId',
  },
]
