import type { AccessSelection } from '../access/read-source-access.ts'
import type { AccessSurvey } from '../access/survey-access.ts'
import { surveyAccess } from '../access/survey-access.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Clock } from '../lib/clock.ts'
import type { Finding } from '../observe/finding.ts'
import type { CarryOptions } from '../offsets/carry-plan.ts'
import { type GroupSurvey, surveyGroups } from '../offsets/survey-groups.ts'
import type { Storage } from '../storage/storage.ts'
import { type ChosenState, findRestore, planWithIds, readIfAllowed } from './find-restore.ts'
import { givenIn } from './given-groups.ts'
import { countMarks } from './note-room.ts'
import type { RestoreOptions } from './restore-options.ts'
import { type SchemaSurvey, type SchemaTarget, surveyBackupSchemas, withIds } from './schema-step.ts'
import { type RecordsSurvey, surveyRecords } from './survey-records.ts'

/** Everything that a restore is asked to do. */
export interface RestoreRequest {
  /** Of topics and records; with `rewrite` where schema IDs in records are written or checked, without the IDs. */
  records: RestoreOptions
  groups: CarryOptions
  access: AccessSelection
}

export interface SurveyParts {
  cluster: Cluster
  storage: Storage
  clock: Clock
  /** Of the program. */
  version: string
  /** Absent where the job takes no schemas from the backup. */
  schemas?: SchemaTarget
  /** The state that the job asks for, where it was read before. */
  chosen?: ChosenState
  /** Why the run has no lease; absent where it has one, and where it writes nothing. */
  unleased?: string
  /** Called with a part that could not be surveyed, which is left out then. Without it the survey fails. */
  onUnread?: (part: SurveyPart, error: KafkaBackupError) => void
}

type SurveyPart = 'schemas' | 'consumer groups' | 'access rules'

/** What a restore knows before its first write. A run, a dry run and a check share it. */
export interface RestoreSurvey {
  records: RecordsSurvey
  schemas?: SchemaSurvey
  groups: GroupSurvey
  access?: AccessSurvey
  /** Of all parts, in the order in which they are restored: errors are blockers. */
  findings: Finding[]
}

/**
 * Reads the backup, the target cluster and the target registry, each once, and changes nothing. Where the chosen state turns out to be gone
 * meanwhile, everything is read again from the state that took its place.
 */
export async function surveyRestore(
  request: RestoreRequest,
  parts: SurveyParts,
  signal: AbortSignal,
): Promise<RestoreSurvey> {
  const { chosen, ...others } = parts
  if (!chosen || !('isThere' in chosen)) return surveyOnce(request, parts, signal)
  const { manifest, isThere } = chosen
  const [survey, there] = await Promise.allSettled([
    surveyOnce(request, { ...others, chosen: { manifest } }, signal),
    isThere,
  ])
  if (there.status === 'rejected') throw there.reason
  if (!there.value) return surveyOnce(request, others, signal)
  if (survey.status === 'rejected') throw survey.reason
  return survey.value
}

async function surveyOnce(
  { records: wanted, groups: groupOptions, access: selection }: RestoreRequest,
  parts: SurveyParts,
  signal: AbortSignal,
): Promise<RestoreSurvey> {
  const { storage, schemas: registry } = parts
  const unlessUnread = <T>(part: SurveyPart, reading: Promise<T>) =>
    reading.catch((error: unknown) => {
      if (!parts.onUnread || !(error instanceof KafkaBackupError) || signal.aborted) throw error
      parts.onUnread(part, error)
      return undefined
    })
  const found = await findRestore(wanted, { ...parts, readNotes: readIfAllowed }, signal)
  const { manifest, target, progress } = found
  const schemas = registry && (await unlessUnread('schemas', surveyBackupSchemas(found, registry, storage, signal)))
  // Where the registry cannot be read, the IDs that records get are not known, and cannot be compared with earlier ones.
  const isWithoutIds = registry !== undefined && schemas === undefined
  const { rewrite: _, ...withoutIds } = wanted
  const options = isWithoutIds ? withoutIds : schemas ? withIds(wanted, schemas, schemas.foreseenIds) : wanted
  const planned = isWithoutIds ? found.plan : planWithIds(found, options)
  const schemasAddedAt = schemas?.backup.addedAt
  const plan = { ...planned, ...(schemasAddedAt !== undefined && { schemasAddedAt }) }
  const { topics, sourceCluster } = plan
  const isSameCluster = sourceCluster !== null && sourceCluster === target.clusterId
  const countNoted = (metadataLimit?: number) => countMarks(plan, metadataLimit)
  const ofGroups = { manifest, topics, isSameCluster, isGiven: progress && givenIn(progress), countNoted }
  const ofAccess = { manifest, topics, topicMapping: wanted.topicMapping, groupMapping: groupOptions.mapping }
  // At the same time, because a store may be far away. What failed is reported in this order.
  const readings = [
    surveyRecords(found, plan, options, parts, signal),
    surveyGroups(groupOptions, ofGroups, parts, signal),
    surveyAccess(selection, ofAccess, parts, signal),
  ] as const
  await Promise.allSettled(readings)
  const records = await readings[0]
  const groups = await unlessUnread('consumer groups', readings[1])
  const access = await unlessUnread('access rules', readings[2])
  return {
    records,
    ...(schemas && { schemas }),
    groups: groups ?? { plan: { groups: [], findings: [] }, findings: [] },
    ...(access && { access }),
    findings: [
      ...(schemas?.findings ?? []),
      ...records.preflight.findings,
      ...(groups?.findings ?? []),
      ...(access?.plan.findings ?? []),
    ],
  }
}
