import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shardSchema } from '../../src/archive/shard.ts'

test('a shard document with more shards than the command line takes is refused', () => {
  const parse = (shards: number) => shardSchema.shape.shards.safeParse(shards).success
  assert.deepEqual([1, 999_999, 1_000_000, 2 ** 50].map(parse), [true, true, false, false])
})
