import * as z from 'zod'
import { count, hash, int64, kafkaText, topicName } from './scalars.ts'

const position = z.strictObject({
  topic: topicName,
  partition: count,
  /** The next record that the group reads; of a share group the first one that it has not processed. */
  offset: int64,
  /** Of the last record that it has read; -1 is unknown. */
  leader_epoch: z.int(),
  metadata: kafkaText,
  /** From the position to the end of the log, when the ends of the run were fixed; null where the end was not known. */
  lag: int64.nullable(),
})

const storedGroup = z.strictObject({
  group: kafkaText,
  /** `classic`, `consumer` (KIP-848), `streams` (KIP-1071), `share` (KIP-932). */
  type: z.enum(['classic', 'consumer', 'streams', 'share']),
  /** The broker's own word, such as `Stable` or `Empty`; null where it could not be asked. */
  state: kafkaText.nullable(),
  members: count.nullable(),
  /** Why the group could not be read; its positions are then not known. */
  error: z.string().nullable(),
  positions: z.array(position),
  /** Partitions for which an open transaction held a newer offset; the position, if there is one, is the last committed. */
  undecided: z.array(z.strictObject({ topic: topicName, partition: count })).exactOptional(),
  /** Partitions of a share group for which the broker reported no start offset. */
  unset: z.array(z.strictObject({ topic: topicName, partition: count })).exactOptional(),
})

/** `groups-<generation>.<run>.json`. */
export const groupsFileSchema = z.strictObject({
  format: z.literal('kafka-backup-groups'),
  format_version: z.literal(1),
  groups: z.array(storedGroup),
  /** Groups whose progress is not in the backup: those of unknown types, and share groups of a broker that cannot report start offsets. */
  left_out: z.array(z.strictObject({ group: kafkaText, type: kafkaText })),
})

export const takenGroupsSchema = z.strictObject({
  state: z.literal('taken'),
  taken_at: z.string(),
  key: z.string(),
  size: count,
  blake3: hash,
  groups: count,
  positions: count,
  /** Groups that could not be read. */
  errors: count,
})

/** What a manifest says of consumer groups: that they were taken, with the object; that the job has it off; or that they could not be listed. */
export const groupsSectionSchema = z.discriminatedUnion('state', [
  takenGroupsSchema,
  z.strictObject({ state: z.literal('off') }),
  z.strictObject({ state: z.literal('failed'), taken_at: z.string(), error: z.string() }),
])

export type StoredPosition = z.output<typeof position>
export type StoredGroup = z.output<typeof storedGroup>
export type GroupsFile = z.output<typeof groupsFileSchema>
export type GroupsSection = z.output<typeof groupsSectionSchema>
export type TakenGroups = z.output<typeof takenGroupsSchema>
