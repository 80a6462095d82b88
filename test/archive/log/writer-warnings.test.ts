import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newestState, openBackup } from '../../../src/archive/catalog.ts'
import { keepGeneration } from '../../../src/archive/log/keep-generation.ts'
import { LogWriter } from '../../../src/archive/log/log-writer.ts'
import { renewManifestCopy } from '../../../src/archive/newest-copies.ts'
import { LogRun } from '../../retention/log-world.ts'
import { HOUR, World } from '../../retention/world.ts'
import { never } from '../sample-archive.ts'

/** Nine generations, of which the fourth is in `kept/`, and `manifest.json` of the newest. */
async function grown(): Promise<World> {
  const world = new World()
  await (await LogRun.open(world, 'a')).rounds(9, HOUR / 6)
  await keepGeneration(world.storage, 'a', 4, never)
  await renewManifestCopy(world.storage, await openBackup(world.storage, 'a', never), never)
  return world
}

/** The warnings of a writer that opens the log; none may come after it has begun to write. */
async function warningsOf(world: World): Promise<string[]> {
  const before = world.keys()
  const warnings: string[] = []
  const onWarning = (message: string) => {
    assert.deepEqual(world.keys(), before)
    warnings.push(message)
  }
  const options = { backupId: 'a', newRun: world.newRun, nowMs: world.clock.now, onWarning }
  await LogWriter.open(world.storage, await newestState(world.storage, 'a', never), options, never)
  return warnings
}

test('a run that continues the newest generation does not warn', async () => {
  assert.deepEqual(await warningsOf(await grown()), [])
})

test('a run that continues a generation in kept/ warns with its number and with the one that manifest.json names', async () => {
  const world = await grown()
  for (const key of world.keys('a/commits/')) world.storage.objects.delete(key)
  const [warning = '', ...others] = await warningsOf(world)
  assert.deepEqual(others, [])
  assert.match(warning, /^generation 9 is lost: a\/manifest\.json is a copy of it, and .* left is generation 4\./)
  assert.match(warning, /continues generation 4, with the number 5/)
})

test('so does one behind a lost commit, and one that finds none', async () => {
  const world = await grown()
  world.storage.objects.delete(world.keys('a/commits/').at(-1) ?? assert.fail())
  assert.match((await warningsOf(world)).join(), /^generation 9 is lost: .* left is generation 8\./)
  for (const key of [...world.keys('a/commits/'), ...world.keys('a/kept/')]) world.storage.objects.delete(key)
  assert.match((await warningsOf(world)).join(), /^generation 9 is lost: .* no generation is left\. This run begins/)
})

test('a run that reads around a damaged roll-up names it before it writes the checkpoint in its place', async () => {
  const world = await grown()
  const rollup = world.keys('a/rollups/')[0] ?? assert.fail()
  world.storage.objects.delete(rollup)
  assert.match(
    (await warningsOf(world)).join(),
    new RegExp(`^${rollup}: it is missing; the commits .* are read instead`),
  )
})
