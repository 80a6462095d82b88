import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { type CpuReport, cpuSecondsOf } from './cpu-seconds.ts'
import { isFull } from './full.ts'
import { findNodeObstacle } from './servers/node/obstacle.ts'
import { openApicurioLender } from './servers/shared-apicurio.ts'
import { openKafkaLender } from './servers/shared-kafka.ts'
import { openKubeLender } from './servers/shared-kube.ts'
import { prepareTestEnvironment, testFlags } from './test-environment.ts'
import {
  chooseFiles,
  countFullCases,
  type Durations,
  findTestFiles,
  orderByDuration,
  readDurations,
  writeDurations,
} from './test-files.ts'

/**
 * `make e2e`: the tests with servers, or those named, four files at a time and the longest first: tests wait for servers
 * about half of the time, so that two cores are busy with four. It ends with all files, with the CPU seconds of each
 * and of the servers that it used, and with what is left to `make test-full`, which sets TEST_FULL=1. With
 * RECORD=1 it writes the durations that decide on the order.
 */
const root = resolve(import.meta.dirname, '..')
const named = process.argv.slice(2)
const found = findTestFiles()
const obstacle = findNodeObstacle()
const { chosen, notRun } = chooseFiles(isFull ? [...found.e2e, ...found.full] : found.e2e, named, obstacle)
const files = orderByDuration(chosen, readDurations())
const durations: Durations = {}
const start = performance.now()
prepareTestEnvironment()
const cpuFolder = mkdtempSync(join(tmpdir(), 'kafka-backup-cpu-'))
process.env.CPU_SECONDS_FOLDER = cpuFolder
process.env.TEST_BUILT = '1'
const lender = await openKafkaLender()
process.env.KAFKA_LENDER = lender.socket
const kubeLender = await openKubeLender()
process.env.KUBE_LENDER = kubeLender.socket
const apicurioLender = await openApicurioLender()
process.env.APICURIO_LENDER = apicurioLender.socket
const tests = run({
  files: files.map(file => resolve(root, file)),
  concurrency: 4,
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
await Promise.all([lender.close(), kubeLender.close(), apicurioLender.close()])
report()

function report(): void {
  const slowest = orderByDuration(Object.keys(durations), durations)
  const cpu = takeCpuSeconds()
  process.stdout.write('\nfiles, the slowest first, and their CPU time:\n')
  for (const file of slowest) {
    const [wall, used] = [durations[file], cpu.get(file)].map(seconds => `${Math.round(seconds ?? 0)} s`.padStart(7))
    process.stdout.write(`${wall} ${used}  ${file}\n`)
  }
  const minutes = ((performance.now() - start) / 60_000).toFixed(1)
  const cpuMinutes = (cpuSecondsOf('self') / 60).toFixed(1)
  process.stdout.write(`e2e: ${closing} in ${minutes} min, ${cpuMinutes} CPU min, ${slowest.length} files\n`)
  const [left, cases] = [found.full.length, countFullCases(found.e2e)]
  if (!isFull)
    process.stdout.write(`not run here: ${left} files and ${cases} cases of make test-full, see test/full.md\n`)
  if (notRun !== undefined) process.stdout.write(`${notRun}\n`)
  if (process.env.RECORD === '1') writeDurations(durations)
}

/** By file; a file whose process was killed has none. */
function takeCpuSeconds(): Map<string, number> {
  const reports = readdirSync(cpuFolder).map(
    (name): CpuReport => JSON.parse(readFileSync(join(cpuFolder, name), 'utf8')),
  )
  rmSync(cpuFolder, { recursive: true })
  return new Map(reports.map(({ file, seconds }) => [relative(root, file), seconds]))
}
