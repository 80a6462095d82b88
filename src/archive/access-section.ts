import * as z from 'zod'
import { count, hash, kafkaText } from './scalars.ts'

/** Words of `kafka-acls.sh`; a kind that the writer did not know is `CODE_<number>`. */
const storedAcl = z.strictObject({
  resource_type: kafkaText,
  resource_name: kafkaText,
  pattern_type: kafkaText,
  principal: kafkaText,
  host: kafkaText,
  operation: kafkaText,
  permission: kafkaText,
})

const storedQuota = z.strictObject({
  /** One part, or two for a client of a user. A null name is the default. */
  entity: z.array(z.strictObject({ type: kafkaText, name: kafkaText.nullable() })),
  key: kafkaText,
  /** A double in decimal digits. */
  value: kafkaText,
})

/** Kafka tells no secrets of a login, so that there are none here. */
const storedUser = z.strictObject({ user: kafkaText, mechanism: kafkaText, iterations: count })

/** `access-<generation>.<run>.json`. */
export const accessFileSchema = z.strictObject({
  format: z.literal('kafka-backup-access'),
  format_version: z.literal(1),
  acls: z.array(storedAcl),
  quotas: z.array(storedQuota),
  users: z.array(storedUser),
})

/** Of each kind: that it was taken, that the job has it off, or why it could not be read. */
const kind = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('taken'), count }),
  z.strictObject({ state: z.literal('off') }),
  z.strictObject({ state: z.literal('failed'), error: z.string() }),
])

export const accessSectionSchema = z.strictObject({
  taken_at: z.string(),
  key: z.string(),
  size: count,
  blake3: hash,
  acls: kind,
  quotas: kind,
  users: kind,
})

export const accessKinds = ['acls', 'quotas', 'users'] as const
export type AccessKind = (typeof accessKinds)[number]

export type StoredAcl = z.output<typeof storedAcl>
export type StoredQuota = z.output<typeof storedQuota>
type StoredUser = z.output<typeof storedUser>
export type AccessFile = z.output<typeof accessFileSchema>
export type AccessSection = z.output<typeof accessSectionSchema>

/** What was read of one kind at the source. */
export type Reading<T> = { state: 'taken'; items: T[] } | { state: 'off' } | { state: 'failed'; error: string }

export interface AccessReading {
  acls: Reading<StoredAcl>
  quotas: Reading<StoredQuota>
  users: Reading<StoredUser>
}
