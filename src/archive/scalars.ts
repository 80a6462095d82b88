import * as z from 'zod'

export const int64 = z.union([z.int(), z.bigint()]).transform(BigInt)
export const count = z.int().nonnegative()
export const hash = z.string().regex(/^[0-9a-f]{64}$/)

/** The names that Kafka allows. They become parts of keys, file rows and commands, so no other name is read from a store. */
export const topicName = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,249}$/, 'is not a valid topic name')
  .refine(name => name !== '.' && name !== '..', 'is not a valid topic name')
