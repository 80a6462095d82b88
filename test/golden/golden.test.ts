import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { listGenerations } from '../../src/archive/catalog.ts'
import { describeBackup } from '../../src/archive/describe.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { hashChain } from '../oracle/records.ts'

const never = new AbortController().signal

/** What a consumer read of the source when each archive was made: the hash of each partition's committed records. */
const expected: Record<string, string[]> = {
  'v0.1.0': [
    '8847817ad17def051666d3422ff1bd0d42583f1126b23c5a186a392fcca26b67',
    '41fadcfeff64932dfcc80642ac39b07d3be6bb271c44648a1cde1846763dd887',
  ],
  'format-2': [
    '614affc09ff31d2f6b0c45597ab6cde7f7407c3b138a1610a204e125444997b2',
    'df03a9f28e7452ecbb68b1ed1dc4a95b96249f4b49bf7c16f70e143cd1d8701e',
  ],
}

describe('an archive of every released version, and of every format, stays readable', () => {
  const kept = readdirSync(import.meta.dirname).filter(name => /^(v|format-)\d/.test(name))

  test('there is one for every version in the list', () => {
    assert.deepEqual(kept.sort(), Object.keys(expected).sort())
  })

  for (const name of kept) {
    test(name, async () => {
      const path = join(import.meta.dirname, name)
      const verified = await verifyBackup(
        openLocation(path),
        'golden',
        { deep: true, onProgress: () => undefined },
        never,
      )
      assert.deepEqual([verified.problems, verified.gaps, verified.complete], [[], [], true])
      const archived = await readArchivedTopic(path, 'golden', 'golden')
      assert.deepEqual(archived.map(hashChain), expected[name])
      const { topics } = await describeBackup(openLocation(path), 'golden', {}, never)
      assert.deepEqual(topics[0]?.configs, { 'segment.bytes': '16777216' })
      assert.equal(topics[0]?.aborted_records, 3)
      let before = 0n
      for (const generation of await listGenerations(openLocation(path), 'golden', never)) {
        const options = { deep: true, generation, onProgress: () => undefined }
        const { problems, records } = await verifyBackup(openLocation(path), 'golden', options, never)
        assert.deepEqual([problems, records >= before], [[], true], `generation ${generation}`)
        before = BigInt(records)
      }
    })
  }
})
