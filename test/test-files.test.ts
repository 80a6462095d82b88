import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import {
  chooseFiles,
  countFullCases,
  findTestFiles,
  fullOnly,
  onNode,
  orderByDuration,
  planShards,
  readDurations,
} from './test-files.ts'

const root = resolve(import.meta.dirname, '..')

test('every test file belongs to exactly one group', () => {
  const { unit, e2e, full } = findTestFiles()
  assert.deepEqual([...unit, ...e2e, ...full].sort(), globSync('test/**/*.test.ts', { cwd: root }).sort())
  assert.deepEqual(full, [...fullOnly].sort())
  assert.ok(unit.includes('test/test-files.test.ts'))
  assert.ok(unit.includes('test/lib/clock.test.ts'))
  assert.ok(e2e.includes('test/e2e/command-line.test.ts') && e2e.includes('test/faults/faults.test.ts'))
})

test('the list of what is left to make test-full names every file that is left out or cut short, and no other', () => {
  const listed: string[] = readFileSync(resolve(root, 'test/full.md'), 'utf8').match(/test\/[\w/.-]+\.ts/g) ?? []
  const present = globSync('test/**/*.ts', { cwd: root })
  assert.deepEqual(
    listed.filter(file => !present.includes(file)),
    [],
  )
  const cut = present.filter(file => /from '[./]+\/full\.ts'/.test(readFileSync(resolve(root, file), 'utf8')))
  const users = cut.filter(file => file.includes('/') && !/^test\/(run-\w+|full\.test)\.ts$/.test(file))
  assert.deepEqual(
    [...users, ...fullOnly].filter(file => !listed.includes(file)),
    [],
  )
  assert.ok(countFullCases(findTestFiles().e2e) > 0)
})

test('a machine that cannot run a Kubernetes node prints what it does not run, unless the file is named', () => {
  const all = ['test/e2e/demo.test.ts', ...onNode]
  assert.deepEqual(chooseFiles(all, [], undefined), { chosen: all })
  assert.deepEqual(chooseFiles(all, [], 'it needs root'), {
    chosen: ['test/e2e/demo.test.ts'],
    notRun: `NOT RUN: ${onNode.join(', ')}: this machine cannot run a Kubernetes node: it needs root`,
  })
  assert.deepEqual(chooseFiles(all, onNode, 'it needs root'), { chosen: onNode })
  const { e2e, full } = findTestFiles()
  for (const file of onNode) assert.ok([...e2e, ...full].includes(file), file)
})

test('shards hold every file once and take about the same time', () => {
  const files = Array.from({ length: 11 }, (_, index) => `file-${index}`)
  const shards = planShards(files, 4, { 'file-3': 30, 'file-4': 10, 'file-8': 12, 'file-9': 9 })
  assert.deepEqual(shards.flat().sort(), [...files].sort())
  assert.deepEqual(
    shards.map(shard => shard.filter(file => /[3489]$/.test(file))),
    [['file-3'], ['file-8'], ['file-4'], ['file-9']],
  )
  assert.deepEqual(shards[0], ['file-3'])
  assert.deepEqual(
    planShards(files, 4, {}).map(shard => shard.length),
    [3, 3, 3, 2],
  )
  assert.deepEqual(planShards(['one'], 4, {}), [['one']])
})

test('the longest file comes first, and one that was never measured counts as a minute', () => {
  const durations = { short: 2, long: 480, middle: 30 }
  assert.deepEqual(orderByDuration(['short', 'middle', 'new', 'long'], durations), ['long', 'new', 'middle', 'short'])
})

test('durations are of files that exist', () => {
  const { unit, e2e, full } = findTestFiles()
  assert.deepEqual(
    Object.keys(readDurations()).filter(file => ![...unit, ...e2e, ...full].includes(file)),
    [],
  )
})

test('hooks of tests without servers are inside of a describe: files share a process, and others would run them, too', () => {
  const isOutside = (file: string) => /^(before|after)Each\(/m.test(readFileSync(resolve(root, file), 'utf8'))
  assert.deepEqual(findTestFiles().unit.filter(isOutside), [])
})
