import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readJob } from '../../src/config/load-job.ts'
import { pruneAfterBackup, pruneAtEnd } from '../../src/jobs/prune.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { never } from '../archive/sample-archive.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { World } from '../retention/world.ts'

test('a store that goes away while a run prunes at its end is a warning, and no failure of the backup', async () => {
  const world = new World()
  const manifest = await world.commit('a')
  const faults = (['list', 'listFolders', 'read'] as const).flatMap(on =>
    Array.from({ length: 20 }, (_, i) => ({ on, nth: i + 1, effect: { kind: 'throw-before' as const } })),
  )
  const job = readJob<'backup'>(
    {
      mode: 'backup',
      backup_id: 'a',
      source: { bootstrap_servers: ['localhost:9092'], topics: { include: ['*'] } },
      storage: { backend: 'filesystem', path: '.' },
      retention: { keep_last: 1, after_backup: true },
    },
    { mode: 'backup', source: 'the test' },
  )
  const events: ProgressEvent[] = []
  const hooks = { onProgress: (event: ProgressEvent) => void events.push(event) }
  const prune = pruneAfterBackup(job, withFaults(world.storage, faults), hooks, undefined)
  await pruneAtEnd(prune, manifest, never)
  assert.deepEqual(
    events.map(({ type }) => type),
    ['warning'],
  )
})
