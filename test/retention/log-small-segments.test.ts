import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newestState } from '../../src/archive/catalog.ts'
import { never } from '../archive/sample-archive.ts'
import { LogRun, readAllGenerations } from './log-world.ts'
import { HOUR, World } from './world.ts'

test('small segments of a log that is pruned every day merge again, and every generation still holds the same records', async () => {
  const world = new World()
  for (let day = 0; day < 30; day++) {
    const run = await LogRun.open(world, 'a')
    await run.rounds(24, HOUR)
    await world.prune()
  }
  const { manifest } = await newestState(world.storage, 'a', never)
  const segments = manifest?.topics.flatMap(topic => topic.partitions.map(one => one.segments)) ?? []
  // A partition gets three segments a day, and a few pieces are not segments yet.
  assert.ok(
    segments.every(count => count < 64 + 24),
    `segments of the partitions: ${segments}`,
  )
  assert.ok((await readAllGenerations(world.storage, 'a')).size > 0)
})
