import * as z from 'zod'

export const int64 = z.union([z.int(), z.bigint()]).transform(BigInt)
export const count = z.int().nonnegative()
export const hash = z.string().regex(/^[0-9a-f]{64}$/)

/**
 * Any name or value that Kafka can have told: a string of its protocol has at most 32,767 bytes of UTF-8. It may be empty and may
 * hold control characters, as names of groups and principals do, so they are made visible where they are printed. Half a
 * surrogate pair cannot be sent, and would silently become another name.
 */
export const kafkaText = z
  .string()
  .max(32_767, 'is longer than Kafka allows')
  .refine(text => text.isWellFormed(), 'is not valid Unicode')

/** The same for a registry, which may hold half a surrogate pair: its JSON writes it as an escape. */
export const registryText = z.string().max(32_767, 'is longer than any name of a registry')

/** The names that Kafka allows. They become parts of keys, file rows and commands, so no other name is read from a store. */
export const topicName = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,249}$/, 'is not a valid topic name')
  .refine(name => name !== '.' && name !== '..', 'is not a valid topic name')

/** Timestamps of Kafka, of which there may be none: null is neither early nor late. */
export function earlier(a: bigint | null, b: bigint | null): bigint | null {
  return a === null ? b : b === null || a < b ? a : b
}

export function later(a: bigint | null, b: bigint | null): bigint | null {
  return a === null ? b : b === null || a > b ? a : b
}

/** Names the generations of one backup and of its copies. */
export const lineageId = z.string().regex(/^[0-9a-f]{32}$/)

/** Kafka's own topics, whatever a document calls them: records written there from outside would damage a cluster. */
const internalTopics = new Set([
  '__consumer_offsets',
  '__transaction_state',
  '__share_group_state',
  '__remote_log_metadata',
  '__cluster_metadata',
])

export function isInternalTopic(name: string): boolean {
  return internalTopics.has(name)
}
