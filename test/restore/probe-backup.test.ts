import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { planRestore } from '../../src/restore/plan.ts'
import { probeBackup } from '../../src/restore/probe-backup.ts'
import { readWorkload } from '../../src/restore/workload.ts'
import { never, storePartitions } from '../archive/sample-archive.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions } from './plain-options.ts'

test('a probe prepares what it has read, although readers give back the memory of frames', async () => {
  const storage = openMemoryStorage()
  const values = [0, 1].map(() => Array.from({ length: 4 }, () => randomBytes(300_000)))
  const manifest = await storePartitions(
    storage,
    values.map(some => [some.map((value, i) => encodeBatch({ baseOffset: BigInt(i), records: [{ value }] }))]),
    true,
  )
  const options = plainOptions({})
  const plan = planRestore(manifest, options)
  const survey = { plan, options, progress: undefined, segments: new Map(), isComplete: false }
  const { streams } = await readWorkload(survey, storage, never)
  const limits = { maxBytes: 1 << 30, maxMs: 60_000 }
  const probed = await probeBackup(survey, streams, { storage, clock: systemClock }, limits, never)
  const found = probed.streams.map(({ batches }) =>
    batches.flatMap(({ bytes }) =>
      walkBatches(bytes, 0, bytes.length).flatMap(header => decodeRecords(bytes, header).map(({ value }) => value)),
    ),
  )
  assert.deepEqual(found, values)
})
