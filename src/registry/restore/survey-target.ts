import { type RegistrySnapshot, splitSubject, versionKey } from '../../archive/registry-model.ts'
import type { RegistryClient } from '../client/client.ts'
import { asRecord } from '../client/json-shape.ts'
import { qualify } from '../client/parse-version.ts'
import { pathOf } from '../client/paths.ts'
import { noLessons } from './plan/lessons.ts'
import { planRegistryRestore } from './plan/plan-restore.ts'
import type { RegistryRestoreOptions } from './plan/restore-options.ts'
import type { Conflict, Note, RegistryPlan } from './plan/restore-step.ts'
import { traitsOf } from './plan/target-traits.ts'
import { readTarget, type SettingsReading } from './read-target.ts'
import { type SubjectFilter, selectSubjects } from './select-subjects.ts'
import { sentReferences } from './write/sent-references.ts'

/** What a job asks for; the rest of the plan's options is seen on the target. */
export type SchemaOptions = Omit<
  RegistryRestoreOptions,
  'traits' | 'sameTexts' | 'modesNotRead' | 'leftOutIds' | keyof Journaled
> & {
  /** Which subjects of the backup are restored; all where it is not given. */
  filter?: SubjectFilter
}

/** What the journals of this restore say of the target. */
export type Journaled = Pick<RegistryRestoreOptions, 'unfinished' | 'imported' | 'lessons'>

export const nothingJournaled: Journaled = { unfinished: undefined, imported: new Set(), lessons: noLessons }

export interface Survey {
  plan: RegistryPlan
  target: RegistrySnapshot
  options: RegistryRestoreOptions & Pick<SchemaOptions, 'filter'>
}

/** Reads the target and plans against it. Nothing is written. */
export async function surveyTarget(
  backup: RegistrySnapshot,
  client: RegistryClient,
  wish: SchemaOptions,
  { before, asksAllModes, ...journaled }: Journaled & SettingsReading,
  signal: AbortSignal,
): Promise<Survey> {
  const { snapshot } = selectSubjects(backup, wish.filter)
  const reading = { before, ...(asksAllModes !== undefined && { asksAllModes }) }
  const { target, modesNotRead } = await readTarget(client, snapshot, { ...wish, ...journaled }, reading, signal)
  return planForTarget(backup, client, { ...wish, ...journaled, modesNotRead }, target, signal)
}

/** Plans against what a reading has found. The registry is asked about texts that may be one schema. */
export async function planForTarget(
  backup: RegistrySnapshot,
  client: RegistryClient,
  wish: Omit<Survey['options'], 'traits' | 'sameTexts'>,
  target: RegistrySnapshot,
  signal: AbortSignal,
): Promise<Survey> {
  const { snapshot, conflicts, notes } = selectSubjects(backup, wish.filter)
  const kept = new Set(snapshot.versions)
  const leftOutIds = new Set(backup.versions.filter(one => !kept.has(one)).map(({ id }) => id))
  const traits = traitsOf(target.flavour, target.registryVersion)
  const asked = new Set<string>()
  const sameTexts = new Set<string>()
  for (;;) {
    const options = { ...wish, leftOutIds, traits, sameTexts }
    const plan = planRegistryRestore(snapshot, target, options)
    const open = plan.textsToCompare.filter(({ subject, version }) => !asked.has(versionKey(subject, version)))
    if (open.length === 0) return { plan: withFound(plan, conflicts, notes), target, options }
    for (const one of open) {
      const key = versionKey(one.subject, one.version)
      asked.add(key)
      if (await meansTheSame(client, target, one, signal)) sameTexts.add(key)
    }
  }
}

/** What the filter has found comes first: it may be why other things do not fit. */
function withFound(plan: RegistryPlan, conflicts: readonly Conflict[], notes: readonly Note[]): RegistryPlan {
  const steps = conflicts.length > 0 ? [] : plan.steps
  return { ...plan, steps, conflicts: [...conflicts, ...plan.conflicts], notes: [...notes, ...plan.notes] }
}

/** Only the registry knows which texts are one schema to it. The question changes nothing there, though it is a POST. */
async function meansTheSame(
  client: RegistryClient,
  target: RegistrySnapshot,
  { subject, version, schema }: RegistryPlan['textsToCompare'][number],
  signal: AbortSignal,
): Promise<boolean> {
  const theirs = target.versions.find(one => one.subject === subject && one.version === version)
  if (!theirs) return false
  const { schemaType, references, metadata, ruleSet } = theirs
  const traits = traitsOf(target.flavour, target.registryVersion)
  const body = {
    schema,
    ...(schemaType !== 'AVRO' && { schemaType }),
    ...(references.length > 0 && { references: sentReferences(references, subject, traits) }),
    ...(metadata && { metadata }),
    ...(ruleSet && { ruleSet }),
  }
  const call = { method: 'POST' as const, path: pathOf(target, 'subjects', subject), subject, body }
  const found = asRecord(await client.probe({ ...call, query: { deleted: true } }, signal))
  const named = found?.subject === undefined ? subject : qualify(String(found.subject), splitSubject(subject).context)
  return found?.version === version && named === subject
}
