import { type FieldPath, isMap } from '../../config/problem.ts'
import { drillRestoreFields } from '../crd/drill-fields.ts'
import { layoutOf, type Part } from '../crd/layout.ts'
import type { Resource, ResourceSpec } from '../crd/resource.ts'
import { filesFolder, type JobNeeds } from './job-needs.ts'
import type { JobStep } from './job-pod.ts'
import { type References, sectionOf } from './references.ts'
import { escapeReferences, writeSection } from './write-section.ts'

const signingKey = ['drill', 'signing_key']

/** The job file of a drill: a restore of the backup to the cluster of `spec.drill`. */
export function writeDrillDocument(
  { spec }: Resource,
  { backupId }: JobStep,
  needs: JobNeeds,
  references: References,
): Record<string, unknown> {
  const { drill } = spec
  const ref = drill?.signingKeySecret
  if (ref !== undefined) needs.addFile('secret', signingKey, ref, ['spec', 'drill', 'signingKeySecret'])
  const document: Record<string, unknown> = { mode: 'restore', backup_id: escapeReferences(backupId) }
  for (const { part, value, at } of drillParts(spec, references)) {
    if (value === undefined || part.field.type !== 'section') continue
    const [key = ''] = part.path
    document[key] = writeSection(part.field.section, value, { job: part.path, spec: at }, needs)
  }
  return document
}

/** The sections of the job file with their values, and where the spec has them. */
function drillParts(spec: ResourceSpec, references: References): { part: Part; value: unknown; at: FieldPath }[] {
  const { drill } = spec
  const values: Record<string, { value: unknown; at: FieldPath }> = {
    kafkaCluster: { value: drill?.kafkaCluster, at: ['spec', 'drill', 'kafkaCluster'] },
    restore: { value: chosenOf(drill?.restore), at: ['spec', 'drill', 'restore'] },
    storage: sectionOf('storage', spec, references),
    encryption: { value: spec.encryption, at: ['spec', 'encryption'] },
  }
  return layoutOf('restore').parts.flatMap(part => {
    const found = values[part.name]
    return found ? [{ part, ...found }] : []
  })
}

function chosenOf(restore: unknown): unknown {
  if (!isMap(restore)) return restore
  return Object.fromEntries(Object.entries(restore).filter(([name]) => drillRestoreFields.includes(name)))
}

/** The arguments of the command, after those of all commands. */
export function drillOptions({ drill = {} }: ResourceSpec): string[] {
  const { topics = [], samplePercent, newest, scratchPrefix, schemas, signingKeySecret } = drill
  return [
    ...topics.map(topic => `--topic=${topic}`),
    ...(samplePercent === undefined ? [] : [`--sample=${formatPercent(samplePercent)}`]),
    ...(newest === undefined ? [] : [`--newest=${newest}`]),
    ...(scratchPrefix === undefined ? [] : [`--scratch-prefix=${scratchPrefix}`]),
    ...(signingKeySecret === undefined ? [] : [`--signing-key=${filesFolder}/${signingKey.join('.')}`]),
    ...(schemas === false ? ['--no-schemas'] : []),
  ]
}

/** Without an exponent, which `0.000001` would have. */
function formatPercent(percent: number): string {
  return percent.toFixed(6).replace(/\.?0+$/, '')
}
