import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countExactly } from '../../src/restore/count-exactly.ts'
import { planRestore } from '../../src/restore/plan.ts'
import { planRewrites } from '../../src/restore/plan-rewrites.ts'
import { never, storePartitions } from '../archive/sample-archive.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { framed } from '../registry/ids/sample-schemas.ts'
import { plainOptions } from './plain-options.ts'
import { rewriteOptions } from './rewrite-samples.ts'

test('a count reports a schema ID that would end the restore, though no sample has it', async () => {
  const storage = openMemoryStorage()
  const batches = Array.from({ length: 8 }, (_, i) =>
    encodeBatch({ baseOffset: BigInt(i), records: [{ value: framed(i === 2 ? 4 : 5) }] }),
  )
  const manifest = await storePartitions(storage, [[batches]], false)
  const count = async (unknownIds: 'fail' | 'pass') => {
    const options = plainOptions({ rewrite: rewriteOptions({ unknownIds }) })
    const plan = planRestore(manifest, options)
    const { rewrites, findings } = await planRewrites(options, plan.topics, { storage }, never)
    assert.deepEqual(findings, [])
    const [topic] = plan.topics
    assert.ok(topic)
    return countExactly(options, { ...plan, rewrites }, topic, storage, never)
  }
  const stopped = await count('fail')
  assert.ok('finding' in stopped)
  assert.match(stopped.finding.problem, /^Schema ID 4 not found in target registry.*orders\/0 at offset 2 carries it/)
  assert.match(stopped.finding.remedy, /unknown_ids: pass/)
  assert.deepEqual(await count('pass'), { records: 8 })
})
