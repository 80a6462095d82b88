import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { openDriver } from '../test/servers/driver.ts'
import { startS3 } from '../test/servers/versitygw.ts'
import { BATCHED, RECORDS, requireKcat, startBenchCluster } from './cluster.ts'
import { runContinuously } from './continuous.ts'
import { measureFarStore } from './far.ts'
import { measureOperator } from './operator.ts'
import { fillWithOthers, fillWithPayload, openBenchRegistry } from './registries.ts'
import { RegistryScenario } from './registry-scenario.ts'
import { type BenchPart, type BenchResult, benchParts, writeReport } from './report.ts'
import { Restores } from './restores.ts'
import { formatGoal, isMissed, type Row } from './row.ts'
import { openWide, simulateDay, simulateYear } from './scale.ts'
import { Scenarios } from './scenarios.ts'

/**
 * `make bench`: measures against what users would pick otherwise, on one broker, each part in one run; fails where a limit
 * is missed. `BENCH_PART=backup|restore|far|schemas|search|registry|scale|wide|continuous|operator` does one part, and `scale` also `wide`.
 */
const say = (text: string) => void process.stderr.write(`bench: ${text}\n`)
const only = process.env.BENCH_PART
const parts = benchParts.filter(part => only === undefined || only === part || (only === 'scale' && part === 'wide'))
if (parts.length === 0) throw new Error(`BENCH_PART=${only} is none of ${benchParts.join(', ')}`)
const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-bench-'))
const payload = join(folder, 'payload.json')
try {
  const withKafka = parts.filter(part => !isWithoutKafka(part))
  if (withKafka.length > 0) await benchWithKafka(withKafka as KafkaPart[])
  if (parts.includes('registry')) await report('registry', await benchRegistry(), { node: process.version })
  if (parts.includes('wide')) await report('wide', await benchWide(), { node: process.version })
  if (parts.includes('scale')) await report('scale', await benchScale(), { node: process.version })
  if (parts.includes('continuous')) {
    await report('continuous', await runContinuously(folder, say), { node: process.version })
  }
  if (parts.includes('operator')) await report('operator', await measureOperator(say), { node: process.version })
} finally {
  await rm(folder, { recursive: true, force: true })
}

type KafkaPart = Exclude<BenchPart, 'registry' | 'scale' | 'wide' | 'continuous' | 'operator'>

function isWithoutKafka(part: BenchPart): boolean {
  return ['registry', 'scale', 'wide', 'continuous', 'operator'].includes(part)
}

async function benchWithKafka(some: readonly KafkaPart[]): Promise<void> {
  const kcat = await requireKcat()
  await using server = await startBenchCluster(payload, some, say)
  await using driver = await openDriver(server)
  for (const part of some) {
    const restores = new Restores(server, driver, folder, payload)
    const rows = await {
      backup: () => benchBackups(new Scenarios(server, folder)),
      restore: () => benchRestores(restores),
      far: () => benchFarStore({ server, driver, folder }),
      schemas: () => benchSchemas(restores),
      search: () => benchSearch(new Scenarios(server, folder)),
    }[part]()
    await report(part, rows, { node: process.version, kafka: server.version, kcat })
  }
}

async function report(part: BenchPart, rows: Row[], versions: BenchResult['versions']): Promise<void> {
  const machine = { cpu: cpus()[0]?.model ?? '', cores: cpus().length, memory_gb: Math.round(totalmem() / 1e9) }
  const command = only === undefined ? 'make bench' : `BENCH_PART=${only} make bench`
  const date = new Date().toISOString().slice(0, 10)
  process.stdout.write(await writeReport(part, { date, command, machine, versions, rows }))
  for (const row of rows.filter(isMissed)) {
    say(`MISSED: ${row.name}: ${row.measure} is ${row.value.toFixed(2)}, not ${formatGoal(row)}`)
    process.exitCode = 1
  }
}

async function benchBackups(scenarios: Scenarios): Promise<Row[]> {
  const rows: Row[] = []
  say('zstd topic')
  rows.push(...(await scenarios.againstKcat('zstd', 'auto', 0.3)))
  say('plain topic, stored as it is')
  rows.push(...(await scenarios.againstKcat('plain', 'none', 0.9)))
  say('plain topic, compressed on the way')
  rows.push(...(await scenarios.againstKcat('plain', 'auto', 2.5)))
  say('zstd topic to an S3 bucket')
  {
    await using s3 = await startS3()
    rows.push(...(await scenarios.toBucket('zstd', 'auto', await s3.makeBucket('bench'))))
  }
  say('zstd topic, encrypted')
  rows.push(...(await scenarios.encrypted('zstd', 'auto', 1.3)))
  say('memory')
  rows.push(await scenarios.memoryGrowth('plain', 'plain-x4'))
  say('many small partitions')
  rows.push(await scenarios.requestsPerPartition('small'))
  return rows
}

async function benchRestores(restores: Restores): Promise<Row[]> {
  const rows: Row[] = []
  say('restore of the zstd topic')
  rows.push(...(await restores.againstPerfTool('zstd', { ...BATCHED, 'compression.type': 'zstd' }, 3.5)))
  rows.push(await restores.againstBareLoop('zstd'))
  say('restore of a time window')
  rows.push(...(await restores.withWindow('zstd')))
  say('restore of one-record batches')
  rows.push(...(await restores.againstPerfTool('one-record-batches', {}, 1)))
  say('restore of an hour of commits')
  rows.push(...(await restores.ofCommits('hour', RECORDS)))
  say('memory of a restore')
  rows.push(await restores.memoryGrowth('plain', 'plain-x4'))
  return rows
}

async function benchFarStore(parts: Parameters<typeof measureFarStore>[0]): Promise<Row[]> {
  const topics = [
    { topic: 'zstd', compression: 'auto' },
    { topic: 'plain', compression: 'none' },
  ]
  return measureFarStore(parts, topics, say)
}

async function benchSchemas(restores: Restores): Promise<Row[]> {
  // The next ID of a target is one higher than those that it has: 101 is the letter e, and 1,301 has bytes that are in no text.
  const idChanges = [
    { topic: 'zstd', others: 100, ids: 'other schema IDs', limit: 1.5 },
    { topic: 'zstd', others: 1300, ids: 'schema IDs of bytes that its batches lack' },
    { topic: 'plain', others: 100, ids: 'other schema IDs', limit: 1.3 },
  ]
  const rows: Row[] = []
  for (const { topic, others, ...change } of idChanges) {
    say(`restore of the ${topic} topic with ${change.ids}`)
    await using source = await openBenchRegistry()
    await using target = await openBenchRegistry()
    fillWithPayload(source.store, topic)
    fillWithOthers(target.store, others)
    rows.push(...(await restores.withRewriting(topic, change, { source, target })))
  }
  return rows
}

/** A text of the payload, in batches of records that name a schema. */
async function benchSearch(scenarios: Scenarios): Promise<Row[]> {
  say('search of the zstd-x4 topic')
  const [first = ''] = (await readFile(payload, 'utf8')).split('\n', 1)
  const { trace } = JSON.parse(first.slice(first.indexOf('{')))
  return scenarios.searchAgainstGrep('zstd-x4', trace, 3)
}

/** Simulated: what the log of a continuous backup costs over a long time, without a broker. */
async function benchScale(): Promise<Row[]> {
  return [...(await simulateDay(say)), ...(await simulateYear(say))]
}

async function benchWide(): Promise<Row[]> {
  say('100,000 partitions')
  return openWide(folder)
}

async function benchRegistry(): Promise<Row[]> {
  const scenario = new RegistryScenario(folder)
  say('backup and restore of a registry')
  const rows = await scenario.backUpAndRestore()
  say('restore of a registry that answers slowly')
  return [...rows, ...(await scenario.restoreSlowly())]
}
