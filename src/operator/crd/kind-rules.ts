import type { CelRule, FieldGroup } from './field-schema.ts'
import { type Controller, triggerAnnotation } from './resource.ts'

const maxIdLength = 200
/** With `mode: full` a time of 17 characters comes behind the id. */
const maxFullIdLength = 183

/** Rules about a whole resource, its name and its status too. */
export function kindRules(controller: Controller, apiGroup: string, fields: FieldGroup): CelRule[] {
  const own = controller === 'backup' ? [placeStays, ...backupIdRules] : []
  return [specStays(controller, apiGroup, fields), ...own]
}

const isOver = [
  'has(oldSelf.status)',
  'has(oldSelf.status.completionTime)',
  'has(oldSelf.status.phase)',
  "oldSelf.status.phase in ['Completed', 'Failed']",
].join(' && ')

const goesOn =
  'has(oldSelf.spec.schedule) || (has(oldSelf.spec.backup) && has(oldSelf.spec.backup.continuous) && oldSelf.spec.backup.continuous)'

/**
 * What ran once and has ended tells by its spec what was run. Where a backup goes on (a schedule, a continuous one) the
 * spec stays open; so does one that could not be run at all, which has no completion time. Whether the data goes with
 * the resource is decided at its end, so that stays open too.
 */
function specStays(controller: Controller, apiGroup: string, { properties, required }: FieldGroup): CelRule {
  const isSame = Object.entries(properties)
    .filter(([name]) => name !== 'deletionPolicy')
    .map(([name, { default: value }]) => isSameField(name, value !== undefined || required.includes(name)))
  return {
    rule:
      controller === 'backup'
        ? [`!(${isOver}) ||`, `${goesOn} ||`, isSame.join(' &&\n')].join('\n')
        : `!(${isOver}) || self.spec == oldSelf.spec`,
    message: `this run is finished, and its spec stays as it was: make a new resource, or annotate this one with ${triggerAnnotation(apiGroup)} to run it again`,
    fieldPath: '.spec',
    reason: 'FieldValueForbidden',
  }
}

/** What `deletionPolicy: Delete` has to find again. */
const place = ['bucket', 'container', 'account', 'endpoint', 'prefix', 'pvc'].map(name =>
  isSameField(`storage.${name}`),
)

/** Backups that a run may have made must not be lost sight of by whoever is to remove them. */
const placeStays: CelRule = {
  rule: [
    "self.spec.deletionPolicy != 'Delete' || oldSelf.spec.deletionPolicy != 'Delete' ||",
    '!has(oldSelf.status) || !has(oldSelf.status.startTime) ||',
    [isSameField('backupId'), isSameField('mode', true), isSameField('storage.backend', true), ...place].join(' &&\n'),
  ].join('\n'),
  message:
    'with deletionPolicy Delete the place of the backups, backupId and mode stay as they are, since those made so far would be left behind: set deletionPolicy to Retain first, or make a new resource',
  fieldPath: '.spec.deletionPolicy',
  reason: 'FieldValueForbidden',
}

function isSameField(name: string, isAlwaysThere = false): string {
  const [now, before] = [`self.spec.${name}`, `oldSelf.spec.${name}`]
  return isAlwaysThere
    ? `${now} == ${before}`
    : `(has(${now}) ? has(${before}) && ${now} == ${before} : !has(${before}))`
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
