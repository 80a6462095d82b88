import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { listGenerations } from '../../../src/archive/catalog.ts'
import { surveyLog } from '../../../src/archive/log/survey-log.ts'
import { grownLog } from '../../retention/log-world.ts'
import { never } from '../sample-archive.ts'

test('a survey of a long log keeps little of each commit', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const world = await grownLog(400)
  const generations = await listGenerations(world.storage, 'a', never)
  // Loads what the first one loads.
  await surveyLog(world.storage, 'a', generations.slice(-8), never)
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const survey = await surveyLog(world.storage, 'a', generations, never)
  collectGarbage()
  const each = (process.memoryUsage().heapUsed - before) / generations.length
  assert.deepEqual([survey.problems, survey.isReadable(1)], [[], true])
  assert.ok(each < 2400, `${each} bytes`)
})
