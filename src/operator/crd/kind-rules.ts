import type { CelRule, FieldGroup } from './field-schema.ts'
import { type AnyController, triggerAnnotation } from './resource.ts'

const maxIdLength = 200
/** `mode: full` appends a time of 17 characters to the ID. */
const maxFullIdLength = 183

/** Rules about the complete resource, with its name and status. */
export function kindRules(controller: AnyController, apiGroup: string, fields: FieldGroup): CelRule[] {
  if (controller === 'storage') return [locationStays]
  const own = controller === 'backup' ? [placeStays, ...backupIdRules] : []
  return [specStays(controller, apiGroup, fields), ...own]
}

const isOver = [
  'has(oldSelf.status)',
  'has(oldSelf.status.completionTime)',
  'has(oldSelf.status.phase)',
  "oldSelf.status.phase in ['Completed', 'Failed']",
].join(' && ')

const isOngoing =
  'has(oldSelf.spec.schedule) || (has(oldSelf.spec.backup) && has(oldSelf.spec.backup.continuous) && oldSelf.spec.backup.continuous)'

/**
 * The spec of an ended run documents what was run, so it cannot change. The spec of an ongoing backup (scheduled or continuous)
 * can, and so can one that never ran, which has no completion time. `deletionPolicy` can always change.
 */
function specStays(controller: AnyController, apiGroup: string, { properties, required }: FieldGroup): CelRule {
  const isSame = Object.entries(properties)
    .filter(([name]) => name !== 'deletionPolicy')
    .map(([name, { default: value }]) => isSameField(name, value !== undefined || required.includes(name)))
  return {
    rule:
      controller === 'backup'
        ? [`!(${isOver}) ||`, `${isOngoing} ||`, isSame.join(' &&\n')].join('\n')
        : `!(${isOver}) || self.spec == oldSelf.spec`,
    message: `this run has finished, so its spec cannot change: create a new resource, or annotate this one with ${triggerAnnotation(apiGroup)} to run it again`,
    fieldPath: '.spec',
    reason: 'FieldValueForbidden',
  }
}

/** What `deletionPolicy: Delete` needs to find the backups. */
const place = ['bucket', 'container', 'account', 'endpoint', 'prefix', 'pvc'].map(name =>
  isSameField(`storage.${name}`),
)

const isSameStorage = [
  isSameField('storageRef'),
  `(has(self.spec.storage) ? has(oldSelf.spec.storage) && ${isSameField('storage.backend', true)} &&\n${place.join(' &&\n')} : !has(oldSelf.spec.storage))`,
]

/** The operator must find the backups that earlier runs created, to delete them. */
const placeStays: CelRule = {
  rule: [
    "self.spec.deletionPolicy != 'Delete' || oldSelf.spec.deletionPolicy != 'Delete' ||",
    '!has(oldSelf.status) || !has(oldSelf.status.startTime) ||',
    [isSameField('backupId'), isSameField('mode', true), ...isSameStorage].join(' &&\n'),
  ].join('\n'),
  message:
    'with deletionPolicy Delete the storage, storageRef, backupId and mode cannot change, because existing backups would be left behind: set deletionPolicy to Retain first, or create a new resource',
  fieldPath: '.spec.deletionPolicy',
  reason: 'FieldValueForbidden',
}

/** An address may change, but not what it leads to: the backups of all resources that use it would be left behind. */
const locationStays: CelRule = {
  rule: [
    isSameField('storage.backend', true),
    ...['bucket', 'container', 'account', 'prefix', 'pvc'].map(name => isSameField(`storage.${name}`)),
  ].join(' &&\n'),
  message:
    'the location of a storage cannot change, because existing backups would be left behind: create another KafkaBackupStorage',
  fieldPath: '.spec.storage',
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
    message: `the name of the resource is too long for its backups: set a backupId of at most ${maxIdLength} characters, or ${maxFullIdLength} with mode full`,
    fieldPath: '.spec.backupId',
  },
  {
    rule: `!has(self.spec.backupId) || self.spec.mode != 'full' || size(self.spec.backupId) <= ${maxFullIdLength}`,
    message: `mode full appends the time of each run: use at most ${maxFullIdLength} characters`,
    fieldPath: '.spec.backupId',
  },
]
