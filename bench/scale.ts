import { join } from 'node:path'
import { openGeneration } from '../src/archive/log/open-generation.ts'
import type { Storage } from '../src/storage/storage.ts'
import { cli, measureProcess } from './measure.ts'
import type { Row } from './row.ts'
import { SimulatedLog } from './simulated-log.ts'
import { writeWideBackup } from './wide-backup.ts'

const ROUNDS_OF_DAY = 24 * 60
const ROUNDS_OF_HOUR = 60
const { signal } = new AbortController()

/** A day of one-minute rounds in which all of 5,000 partitions get a record, and one in which ten do. */
export async function simulateDay(say: (text: string) => void): Promise<Row[]> {
  const partitions = 5000
  const all = await SimulatedLog.open(partitions)
  const cpu = process.cpuUsage()
  for (let round = 1; round <= ROUNDS_OF_DAY; round++) {
    await all.round(partitions, signal)
    if (round % ROUNDS_OF_HOUR !== 0) continue
    await all.sweep(signal)
    say(`hour ${round / ROUNDS_OF_HOUR} of a day with ${partitions} active partitions`)
  }
  const { user, system } = process.cpuUsage(cpu)
  const few = await simulateFew(partitions, 10)
  const written = sumsOf(all)
  const name = `${partitions} of ${partitions} partitions, a day`
  const cpuMs = (user + system) / 1000 / ROUNDS_OF_DAY / (partitions / 1000)
  return [
    row(name, 'store writes a round, without merged segments', written.writes / ROUNDS_OF_DAY, 'writes', 3),
    row(name, 'segments that merging wrote', written.segments, 'objects'),
    row(name, 'metadata for a partition and round', written.metadata / ROUNDS_OF_DAY / partitions, 'bytes', 120),
    row(name, 'CPU for 1,000 partitions and a round, with the simulation', cpuMs, 'ms'),
    row(`10 of ${partitions} partitions, a day`, 'metadata of a round', few, 'bytes', 10_000),
  ]
}

async function simulateFew(partitions: number, active: number): Promise<number> {
  const log = await SimulatedLog.open(partitions)
  await log.round(partitions, signal)
  const before = sumsOf(log).metadata
  for (let round = 1; round <= ROUNDS_OF_DAY; round++) {
    await log.round(active, signal)
    if (round % ROUNDS_OF_HOUR === 0) await log.sweep(signal)
  }
  return (sumsOf(log).metadata - before) / ROUNDS_OF_DAY
}

function sumsOf({ written }: SimulatedLog): { writes: number; segments: number; metadata: number } {
  const { kafka, packs, ...documents } = written
  const all = Object.values(documents)
  const writes = all.reduce((sum, { objects }) => sum + objects, packs?.objects ?? 0)
  return { writes, segments: kafka?.objects ?? 0, metadata: all.reduce((sum, { bytes }) => sum + bytes, 0) }
}

const MEASURED_DAYS = [1, 30, 365]

/** A year of one-minute rounds in which 20 of 200 partitions get a record. Generations of the last day are kept. */
export async function simulateYear(say: (text: string) => void): Promise<Row[]> {
  const log = await SimulatedLog.open(200)
  const rows: Row[] = []
  const found: { objects: number; requests: number; ms: number }[] = []
  await log.round(200, signal)
  for (let day = 1; day <= 365; day++) {
    for (let round = 0; round < ROUNDS_OF_DAY; round++) await log.round(20, signal)
    await log.sweep(signal)
    if (day % 30 === 0) say(`day ${day} of a year`)
    if (!MEASURED_DAYS.includes(day)) continue
    const opened = { objects: log.storage.objects.size, ...(await measureOpening(log)) }
    found.push(opened)
    const name = `20 of 200 partitions, after ${day} ${day === 1 ? 'day' : 'days'}`
    rows.push(
      row(name, 'objects in the store', opened.objects, 'objects'),
      row(name, 'documents read to open the newest generation', opened.requests, 'objects', 30),
      row(name, 'time to open it', opened.ms, 'ms'),
    )
  }
  const [first, , last] = found
  if (!first || !last) throw new Error('the year has ended early')
  const name = 'the year against its first day'
  return [
    ...rows,
    row(name, 'objects in the store', last.objects / first.objects, 'ratio', 2),
    row(name, 'documents read to open the newest generation', last.requests / first.requests, 'ratio', 2),
  ]
}

/** The median of some openings. */
async function measureOpening(log: SimulatedLog): Promise<{ requests: number; ms: number }> {
  let requests = 0
  const counted: Storage = {
    ...log.storage,
    read: (...args) => {
      requests++
      return log.storage.read(...args)
    },
  }
  const times: number[] = []
  for (let i = 0; i < 9; i++) {
    requests = 0
    const startedAt = performance.now()
    await openGeneration(counted, 'b', log.generation, signal)
    times.push(performance.now() - startedAt)
  }
  return { requests, ms: times.sort((a, b) => a - b)[4] ?? 0 }
}

/** A backup with 100,000 partitions in a folder, read by processes as users run them. */
export async function openWide(folder: string): Promise<Row[]> {
  const path = join(folder, 'wide')
  const partitions = 100_000
  await writeWideBackup(path, partitions)
  const name = `${partitions.toLocaleString('en')} partitions`
  const rows: Row[] = []
  const reader = join(import.meta.dirname, 'read-lists.ts')
  const commands: [string, string[]][] = [
    ['describe', [cli, 'describe', '--path', path, '--backup-id', 'b', '--format', 'json']],
    ["the state and all lists, as a restore's plan reads them", [reader, path]],
  ]
  for (const [what, args] of commands) {
    const { wallMs, peakBytes } = await measureProcess(process.execPath, args)
    rows.push(
      row(name, `${what}: time`, wallMs / 1000, 's', 10),
      row(name, `${what}: peak memory`, peakBytes / 1e6, 'MB', 400),
    )
  }
  return rows
}

function row(name: string, measure: string, value: number, unit: Row['unit'], limit?: number): Row {
  return { name, measure, value, unit, ...(limit !== undefined && { limit }), detail: {} }
}
