import { isMap } from '../../config/problem.ts'
import { type Layout, layoutOf } from '../crd/layout.ts'
import type { AnyController, Resource, ResourceSpec } from '../crd/resource.ts'
import { writeDrillDocument } from './drill-document.ts'
import { anyFullBackup } from './job-args.ts'
import type { JobNeeds } from './job-needs.ts'
import { type JobStep, jobPort } from './job-pod.ts'
import { type References, sectionOf } from './references.ts'
import { escapeReferences, writeSection } from './write-section.ts'

type Fields = Record<string, unknown>

const MAX_BACKUP_ID = 200

/** The job file of a step as plain data. `needs` collects what it needs from the pod. */
export function writeDocument(
  controller: AnyController,
  resource: Resource,
  step: JobStep,
  needs: JobNeeds,
  references: References = {},
): Fields {
  if (step.purpose === 'drill') return writeDrillDocument(resource, step, needs, references)
  const layout = layoutOf(controller)
  const spec = withDefaults(resource)
  const document: Fields = { mode: layout.mode, backup_id: escapeReferences(backupIdOf(resource, step)) }
  const isWhole = needsCluster(controller, step)
  for (const part of layout.parts.filter(({ name }) => isWhole || name === 'storage')) {
    const { value, at } = sectionOf(part.name, spec, references)
    if (value === undefined || part.field.type !== 'section') continue
    const place = { job: part.path, spec: at }
    setAt(document, part.path, writeSection(part.field.section, value, place, needs))
  }
  return servesProgress(controller, step) ? { ...document, metrics: { listen: `[\${POD_IP}]:${jobPort}` } } : document
}

/** Offset commands need no backup, but a job file requires a `backup_id`. */
function backupIdOf({ metadata }: Resource, { backupId }: JobStep): string {
  return backupId === '' ? metadata.name.slice(0, MAX_BACKUP_ID) : backupId
}

/** A deletion only needs the store, so neither a missing Kafka password nor a missing cluster must block it. */
export function needsCluster(controller: AnyController, { purpose }: JobStep): boolean {
  return controller !== 'storage' && purpose !== 'delete'
}

/** With mode `full` each run creates a separate backup, so retention covers all backups of the resource. */
function withDefaults({ spec, metadata }: Resource): ResourceSpec {
  const { retention } = spec
  if (!isMap(retention)) return spec
  const match = spec.mode === 'full' ? { match: [anyFullBackup(spec.backupId ?? metadata.name)] } : {}
  return { ...spec, retention: { afterBackup: true, ...match, ...retention } }
}

/** `source.topics` comes after `source`. */
function setAt(document: Fields, [key = '', ...rest]: Layout['parts'][number]['path'], value: unknown): void {
  if (rest.length === 0) document[key] = value
  else {
    const parent = isMap(document[key]) ? document[key] : {}
    document[key] = parent
    setAt(parent, rest, value)
  }
}

/** Long runs report progress. All pods have the variable. */
function servesProgress(controller: AnyController, { purpose }: JobStep): boolean {
  return (controller === 'backup' && purpose !== 'delete' && purpose !== 'drill') || controller === 'restore'
}
