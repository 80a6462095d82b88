import type { SchemaType } from '../../../archive/registry-model.ts'
import type { LossKind } from '../../loss-kinds.ts'
import type { Lessons, RestoreJournal } from './restore-step.ts'
import type { TargetTraits } from './target-traits.ts'

export interface RegistryRestoreOptions {
  /** `lookup` registers nothing: IDs are mapped to what the target has. */
  strategy: 'preserve' | 'overwrite' | 'skip' | 'lookup'
  forceIds: boolean
  subjectMapping: ReadonlyMap<string, string>
  /** The level under which schemas are registered; undefined: that of the target. */
  setCompatibility: string | undefined
  forceRegister: boolean
  schemaTypes: readonly SchemaType[]
  /** IDs of schemas of the backup that a filter of subjects leaves out. */
  leftOutIds?: ReadonlySet<number>
  /** Losses that the job accepts; they change no step. */
  acceptLoss: readonly LossKind[]
  /** Source ID to target ID, by hand; they come first. */
  idOverrides: ReadonlyMap<string, number>
  /** Records with an ID that the target lacks are restored unchanged; otherwise they stop the restore. */
  passesUnknownIds?: boolean
  traits: TargetTraits
  /** `subject@version` of the target where the registry calls another text the same schema. */
  sameTexts: ReadonlySet<string>
  /** Subjects of the target whose modes were not read; they are planned as unset. */
  modesNotRead: ReadonlySet<string>
  /** Of a run of this restore that did not end. */
  unfinished: RestoreJournal | undefined
  /** The `importKey` of all that runs of this restore have imported, finished ones included. */
  imported: ReadonlySet<string>
  lessons: Lessons
}
