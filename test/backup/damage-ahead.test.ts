import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkBackup } from '../../src/backup/check.ts'
import { dryRunBackup } from '../../src/backup/dry-run.ts'
import { fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { append, never, play, runs } from './continuous-scene.ts'
import { plainOptions } from './plain-options.ts'

const ROUNDS = 9

test('a check and a dry run warn of damage that the run would read around', async () => {
  const storage = openMemoryStorage()
  const grow = (_: unknown, i: number) => (state: Parameters<typeof append>[0]) => append(state, 0, runs(i + 1, 1))
  const between = Array.from({ length: ROUNDS }, grow)
  await play({ topics: [fakeTopic('orders', [runs(0, 1)])], storage, options: { beginsLog: true }, between })
  const rollup = [...storage.objects.keys()].find(key => key.startsWith('b1/rollups/')) ?? assert.fail()
  storage.objects.delete(rollup)
  const fake = await startFakeCluster([fakeTopic('orders', [runs(0, ROUNDS + 1)])])
  try {
    const parts = { cluster: await fake.open(), storage, clock: new JumpingClock(), otherChecks: [] }
    for (const inspect of [checkBackup, dryRunBackup]) {
      const { warnings } = await inspect(plainOptions(), parts, never)
      assert.match(warnings.join(), new RegExp(`^${rollup}: it is missing; the commits .* are read instead`))
    }
  } finally {
    await fake.close()
  }
})
