import * as z from 'zod'
import { count, hash } from '../scalars.ts'
import { changeSchema, namedObject, packRef } from './change-document.ts'
import { LOG_VERSION } from './document.ts'

const generation = z.int().positive()
/** Of roll-ups. */
export const MAX_LEVEL = 99
/** Of copies of copies; those before the last so many are forgotten. */
export const MAX_ORIGINALS = 16

/** The state that a reader begins with. */
const checkpointRef = z.strictObject({ ...namedObject.shape, generation })

/** The net change from a generation to another, both included. */
const rollupRef = z.strictObject({
  from: generation,
  to: generation,
  /** 1: made of commits; each higher level of roll-ups of the level below. */
  level: z.int().min(1).max(MAX_LEVEL),
  documents: z.array(namedObject).min(1),
})

export const commitSchema = z.strictObject({
  format: z.literal('kafka-backup-commit'),
  format_version: z.literal(LOG_VERSION),
  tool_version: z.string(),
  backup_id: z.string(),
  generation,
  run: z.string(),
  /** Every partition reached the end that its run had fixed. */
  complete: z.boolean(),
  created_at: z.string(),
  started_at: z.string(),
  /** The commit of the generation before; null for the first of version 2. */
  previous: z.strictObject({ size: count, blake3: hash }).nullable(),
  /** Of a generation that was copied: the hashes of its commits in the locations that it came through, the first one first. */
  originals: z.array(hash).min(1).max(MAX_ORIGINALS).exactOptional(),
  /** Null where the backup began with version 2 and has none yet: the state before its first change is empty. */
  checkpoint: checkpointRef.nullable(),
  /** In their order, from the generation after the checkpoint on. Commits follow. */
  rollups: z.array(rollupRef),
  /** Documents with parts of a change that is too large for one; together with `change` they are the whole. */
  parts: z.array(namedObject),
  change: changeSchema,
})

export const changePartSchema = z.strictObject({
  format: z.literal('kafka-backup-change'),
  format_version: z.literal(LOG_VERSION),
  backup_id: z.string(),
  change: changeSchema,
})

/** Segments of the lists from `first` to `last`, in the order of their keys. */
const pageRef = z.strictObject({ ...namedObject.shape, first: z.string(), last: z.string() })

export const checkpointSchema = z.strictObject({
  format: z.literal('kafka-backup-checkpoint'),
  format_version: z.literal(LOG_VERSION),
  backup_id: z.string(),
  generation,
  parts: z.array(namedObject),
  /** From the empty state, without segments: these are in the pages. */
  change: changeSchema,
  pages: z.array(pageRef),
})

export const pageSchema = z.strictObject({
  format: z.literal('kafka-backup-page'),
  format_version: z.literal(LOG_VERSION),
  backup_id: z.string(),
  packs: z.array(packRef),
  /** Read one by one; see page-text.ts. */
  lists: z.array(z.never()),
})

export type Commit = z.output<typeof commitSchema>
export type ChangePart = z.output<typeof changePartSchema>
export type CheckpointRef = z.output<typeof checkpointRef>
export type RollupRef = z.output<typeof rollupRef>
export type PageRef = z.output<typeof pageRef>
export type Checkpoint = z.output<typeof checkpointSchema>
