import * as z from 'zod'

export const int64 = z.union([z.int(), z.bigint()]).transform(BigInt)
export const count = z.int().nonnegative()
export const hash = z.string().regex(/^[0-9a-f]{64}$/)
