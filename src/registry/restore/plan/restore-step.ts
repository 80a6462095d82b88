import {
  type JsonObject,
  type RegistryFlavour,
  type RegistrySettings,
  type SchemaReference,
  type SchemaType,
  versionKey,
} from '../../../archive/registry-model.ts'
import type { LossKind } from '../../loss-kinds.ts'

/** What settings belong to. */
export type Scope = { kind: 'global' } | { kind: 'context'; context: string } | { kind: 'subject'; subject: string }

/**
 * One write to the target. Steps are carried out in their order; those of a row of registrations, deletions or settings that
 * do not need each other run side by side. Each may be repeated: what is done already is done.
 */
export type RestoreStep =
  /** Made durable before anything is touched. */
  | { type: 'journal'; journal: RestoreJournal }
  /** `force` where versions of the scope must survive. */
  | { type: 'set-mode'; scope: Scope; mode: string; force: boolean }
  | { type: 'delete-mode'; scope: Scope }
  /**
   * The whole of the scope's own settings: what is not in it is not set afterwards. `clears`: something is set there that a
   * registry keeps when it is given others.
   */
  | {
      type: 'set-config'
      scope: Scope
      compatibility: string | null
      config: JsonObject | null
      clears: boolean
    }
  | { type: 'delete-config'; scope: Scope }
  | RegisterStep
  /** `permanent`: marked first where it is live, then removed. Otherwise marked as deleted only. */
  | { type: 'delete-version'; subject: string; version: number; permanent: boolean }
  /** For good, with all of its versions, which are marked as deleted. */
  | { type: 'delete-subject'; subject: string }
  /** A fresh inventory is compared with the plan. Aliases come after it: they redirect what is asked of their subjects. */
  | { type: 'verify' }

export interface RegisterStep {
  type: 'register'
  /** `filler` takes a number that the source has not, until the end; `reserve` keeps IDs from being given again. */
  purpose: 'schema' | 'filler' | 'reserve'
  subject: string
  /** `subject@version` of the target's subject and the source's number; null for what the backup does not have. */
  key: string | null
  /** The number that it has afterwards. It is sent only where `id` is. */
  version: number
  /** Null: the registry gives one, and the map of IDs learns it. */
  id: number | null
  schemaType: SchemaType
  schema: string
  references: readonly SchemaReference[]
  metadata: JsonObject | null
  ruleSet: JsonObject | null
  /** Ask the registry not to compare it with earlier versions. */
  force: boolean
  /** What to do where the registry calls it incompatible with earlier versions; null: nothing, it is refused. */
  lift: Lift | null
  /** The keys in the map of IDs that get its ID; none for what the backup does not have. */
  sourceIds: readonly string[]
}

/**
 * The temporary configuration of a subject during its registrations, and the one before and after. Most histories were
 * registered one by one under their levels and need none, so it is set for those alone that are refused without.
 */
export interface Lift {
  during: Pick<RegistrySettings, 'compatibility' | 'config'>
  after: Pick<RegistrySettings, 'compatibility' | 'config'>
}

/** Stored before the first write: enough to undo temporary changes, and to continue after a crash. */
export interface RestoreJournal {
  /** Settings as they were, of every scope that is touched. */
  settings: { scope: Scope; compatibility: string | null; mode: string | null; config: JsonObject | null }[]
  /** Contexts that had no version. */
  emptyContexts: string[]
  /** Subjects that had neither versions nor settings. */
  createdSubjects: string[]
  /** Versions that the restore makes, as `subject@version` of the target. */
  registered: string[]
  fillers: string[]
  /** Subjects whose modes were not read: a mode that one has was not set by this restore. */
  modesNotRead?: string[]
  /** With force_ids: versions that the restore registers, with their IDs; see `importKey`. */
  imported: string[]
  /** What its answers have shown, once a run has ended. */
  learned?: JournaledLessons
}

/** A part of a schema that a registry may drop without an error. */
export type ContractPart = 'metadata' | 'ruleSet'

/**
 * What answers of the target have shown beyond its vendor and version: what it refuses, and what it takes
 * and does not hold. A plan that is made with them asks for none of it again, and reports it as lost.
 */
export interface Lessons {
  drops: readonly ContractPart[]
  /** Parts that the registry dropped when it was another version or vendor: versions on it may lack them. */
  droppedBefore: readonly ContractPart[]
  /** Registrations that were refused, as `subject@version` with the number of the source. */
  refused: ReadonlyMap<string, string>
  /** The version by which the registry holds another one of the subject; keys as in `refused`. */
  heldAs: ReadonlyMap<string, HeldAs>
  /** Versions that cannot be marked as deleted, as `subject@version` of the target, and why. */
  undeletable: ReadonlyMap<string, string>
  settings: readonly RefusedSetting[]
}

interface HeldAs {
  version: number
  /** Of both schemas: a later run may find others under these names, as when the registry was set up again. */
  print: string
}

/** Lessons of an earlier run, and the server that they are about. */
export interface JournaledLessons {
  /** Null where the journal does not name it. */
  server: LessonServer | null
  lessons: Lessons
}

export interface LessonServer {
  flavour: RegistryFlavour
  version: string | null
}

/** A level with a configuration, or a mode, that a scope does not take. */
export interface RefusedSetting {
  scope: Scope
  setting: { config: Pick<RegistrySettings, 'compatibility' | 'config'> } | { mode: string | null }
  reason: string
  /** The registry answered with success, and did not change it. */
  isIgnored: boolean
}

/** Names a version together with its ID. */
export function importKey({ subject, version, id }: { subject: string; version: number; id: number }): string {
  return `${versionKey(subject, version)}#${id}`
}

type ConflictKind =
  | 'reference-missing'
  | 'version-differs'
  | 'id-taken'
  | 'id-not-found'
  | 'not-empty'
  | 'read-only'
  | 'unsupported'
  | 'referrer-outside'
  | 'mapping'
  | 'filter'

/** Why nothing is written. */
export interface Conflict {
  kind: ConflictKind
  /** Of the target; null where it is about the whole registry. */
  subject: string | null
  version: number | null
  message: string
}

/** `lossy`: the target is not what the source was. `undecodable`: an ID of the target loses its schema. */
export type Note = LossNote | { kind: 'undecodable' | 'hint'; subject: string | null; message: string }

export interface LossNote {
  kind: 'lossy'
  loss: LossKind
  subject: string | null
  message: string
}

export function lossNote(loss: LossKind, subject: string | null, message: string): LossNote {
  return { kind: 'lossy', loss, subject, message }
}

/** What becomes of one version of the backup. */
export interface PlannedVersion {
  source: { subject: string; version: number; id: number }
  subject: string
  /** Null where the target does not get it. */
  version: number | null
  /** Null where the target gives it one. */
  id: number | null
  action: 'register' | 'keep' | 'replace' | 'merge' | 'leave' | 'conflict'
}

export interface RegistryPlan {
  /** Where there is one, there are no steps. */
  conflicts: Conflict[]
  steps: RestoreStep[]
  versions: PlannedVersion[]
  notes: Note[]
  /** Source ID (`5`, or `:.context:5`) to target ID, as far as it is known before a registration. */
  knownIds: Map<string, number>
  /** Source IDs without a counterpart on the target, each with the reason. */
  unmappedIds: ReadonlyMap<string, string>
  /** Versions whose texts alone differ: whether they mean the same only the registry can say, and a new plan takes it in. */
  textsToCompare: { subject: string; version: number; schema: string }[]
}
