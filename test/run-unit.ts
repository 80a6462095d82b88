import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { cpuSecondsOf } from './cpu-seconds.ts'
import { prepareTestEnvironment, testFlags } from './test-environment.ts'
import {
  type Durations,
  findTestFiles,
  orderByDuration,
  planShards,
  readDurations,
  writeDurations,
} from './test-files.ts'

/**
 * `make unit`: all tests without servers, spread over one process for each core. Within a process the files share it,
 * because loading the code again for each of them takes longer than its tests. It ends with the ten slowest files. With
 * RECORD=1 it writes the durations that decide which process runs a file.
 */
prepareTestEnvironment()
const start = performance.now()
const files = findTestFiles().unit
const shards = planShards(files, availableParallelism(), readDurations())
const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-unit-'))
const results = await Promise.all(shards.map(runShard))
for (const { output } of results.slice(1)) process.stdout.write(output)
await writeSlowest()
const count = (name: string) => results.reduce((sum, { output }) => sum + readCount(output, name), 0)
const failed = count('fail') + count('cancelled')
const seconds = Math.round((performance.now() - start) / 1000)
const cpu = Math.round(cpuSecondsOf('self'))
const effort = `${seconds} s, ${cpu} CPU s, ${shards.length} processes`
process.stdout.write(`unit: ${count('pass')} passed, ${failed} failed in ${effort}\n`)
if (results.some(({ exitCode }) => exitCode !== 0)) {
  process.exitCode = 1
  if (failed === 0) process.stdout.write('unit: a process crashed, or an error was not caught by any test: see above\n')
}

/** The first one is shown while it runs, the others after it. */
async function runShard(files: readonly string[], index: number): Promise<{ exitCode: number | null; output: string }> {
  const script = join(import.meta.dirname, 'run-unit-shard.ts')
  const child = spawn(process.execPath, [...testFlags, script, join(folder, `${index}`), ...files], {
    cwd: resolve(import.meta.dirname, '..'),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const chunks: string[] = []
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    chunks.push(chunk)
    if (index === 0) process.stdout.write(chunk)
  })
  const [exitCode] = (await once(child, 'close')) as [number | null]
  return { exitCode, output: chunks.join('') }
}

async function writeSlowest(): Promise<void> {
  const durations: Durations = {}
  for (const index of shards.keys()) {
    // A process that crashed has written none.
    const ofShard: Durations = JSON.parse(await readFile(join(folder, `${index}`), 'utf8').catch(() => '{}'))
    for (const [file, seconds] of Object.entries(ofShard)) durations[file] = (durations[file] ?? 0) + seconds
  }
  await rm(folder, { recursive: true })
  process.stdout.write('\nslowest files, by their CPU time:\n')
  for (const file of orderByDuration(Object.keys(durations), durations).slice(0, 10)) {
    process.stdout.write(`${durations[file]?.toFixed(1).padStart(7)} s  ${file}\n`)
  }
  if (process.env.RECORD === '1') record(durations)
}

/** Tests of a suite count for the suite, which is not a file that can be moved to another process. */
function record(durations: Durations): void {
  const rounded = files.map((file): [string, number] => [file, Math.round(durations[file] ?? 0)])
  writeDurations(Object.fromEntries(rounded.filter(([, seconds]) => seconds > 0)))
}

/** Of the closing lines of Node's test runner, such as `ℹ pass 12`. */
function readCount(output: string, name: string): number {
  return Number(output.match(new RegExp(`^(?:ℹ|#) ${name} (\\d+)$`, 'm'))?.[1] ?? 0)
}
