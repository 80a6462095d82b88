import { relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { isFull } from './full.ts'
import { openKafkaLender } from './servers/shared-kafka.ts'
import { prepareTestEnvironment, testFlags } from './test-environment.ts'
import {
  countFullCases,
  type Durations,
  findTestFiles,
  orderByDuration,
  readDurations,
  writeDurations,
} from './test-files.ts'

/**
 * `make e2e`: the tests with servers, or those named, three files at a time and the longest first. It ends with the ten
 * slowest files and with what is left to `make test-full`, which sets TEST_FULL=1. With RECORD=1 it writes the durations
 * that decide on the order.
 */
const root = resolve(import.meta.dirname, '..')
const named = process.argv.slice(2)
const found = findTestFiles()
const chosen = named.length > 0 ? named : isFull ? [...found.e2e, ...found.full] : found.e2e
const files = orderByDuration(chosen, readDurations())
const durations: Durations = {}
const start = performance.now()
prepareTestEnvironment()
const lender = await openKafkaLender()
process.env.KAFKA_LENDER = lender.socket
const tests = run({
  files: files.map(file => resolve(root, file)),
  concurrency: 3,
  isolation: 'process',
  execArgv: testFlags,
})

tests.on('test:fail', () => {
  process.exitCode = 1
})
tests.on('test:summary', ({ file, duration_ms, counts, success }) => {
  if (!success) process.exitCode = 1
  if (file !== undefined) durations[relative(root, file)] = Math.round(duration_ms / 1000)
  else closing = `${counts.passed} passed, ${counts.tests - counts.passed - counts.skipped - counts.todo} failed`
})
let closing = ''
for await (const text of tests.compose(spec)) process.stdout.write(text)
await lender.close()
report()

function report(): void {
  const slowest = orderByDuration(Object.keys(durations), durations)
  process.stdout.write('\nslowest files:\n')
  for (const file of slowest.slice(0, 10)) process.stdout.write(`${String(durations[file]).padStart(5)} s  ${file}\n`)
  const minutes = ((performance.now() - start) / 60_000).toFixed(1)
  process.stdout.write(`e2e: ${closing} in ${minutes} min, ${slowest.length} files\n`)
  const [left, cases] = [found.full.length, countFullCases(found.e2e)]
  if (!isFull)
    process.stdout.write(`not run here: ${left} files and ${cases} cases of make test-full, see test/full.md\n`)
  if (process.env.RECORD === '1') writeDurations(durations)
}
