import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cli, measureProcess } from './measure.ts'
import { type Command, type Cost, commands, measureCommands } from './measure-commands.ts'
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
    await all.prune(signal)
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
    if (round % ROUNDS_OF_HOUR === 0) await log.prune(signal)
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
const described: Record<Command, string> = {
  open: 'opening the newest generation',
  list: '`list`',
  describe: '`describe`',
  plan: 'the plan of a restore',
  prune: 'the `prune` of the day',
}
type Measured = { objects: number } & Record<Command, Cost>

/** A year of one-minute rounds in which 20 of 200 partitions get a record. Generations of the last day are kept. */
export async function simulateYear(say: (text: string) => void): Promise<Row[]> {
  const log = await SimulatedLog.open(200)
  const rows: Row[] = []
  const found: Measured[] = []
  await log.round(200, signal)
  for (let day = 1; day <= 365; day++) {
    for (let round = 0; round < ROUNDS_OF_DAY; round++) await log.round(20, signal)
    if (day % 30 === 0) say(`day ${day} of a year`)
    if (MEASURED_DAYS.includes(day)) {
      const costs = await measureCommands(log)
      found.push({ objects: log.storage.objects.size, ...costs })
      rows.push(...rowsOfDay(day, found.at(-1) as Measured))
    } else await log.prune(signal)
  }
  return [...rows, ...compareDays(found)]
}

function rowsOfDay(day: number, measured: Measured): Row[] {
  const name = `20 of 200 partitions, after ${day} ${day === 1 ? 'day' : 'days'}`
  return [
    row(name, 'objects in the store', measured.objects, 'objects'),
    ...commands.flatMap(command => [
      row(name, `requests of ${described[command]}`, measured[command].requests, 'requests', limits[command]),
      row(name, `time of ${described[command]}`, measured[command].ms, 'ms'),
    ]),
  ]
}

const limits: Partial<Record<Command, number>> = { open: 30 }

/** A prune of the first day has nothing to remove, so that of the month is what it is compared with. */
function compareDays([first, month, year]: readonly Measured[]): Row[] {
  if (!first || !month || !year) throw new Error('the year has ended early')
  const name = 'the year against its first day'
  return [
    row(name, 'objects in the store', year.objects / first.objects, 'ratio', 2),
    ...commands.flatMap(command => {
      const [before, than] = command === 'prune' ? [month, ', against that of day 30'] : [first, '']
      return [
        row(name, `requests of ${described[command]}${than}`, ratio(year, before, command, 'requests'), 'ratio', 2),
        row(name, `time of ${described[command]}${than}`, ratio(year, before, command, 'ms'), 'ratio', 2),
      ]
    }),
  ]
}

function ratio(year: Measured, before: Measured, command: Command, unit: keyof Cost): number {
  return year[command][unit] / before[command][unit]
}

/** A backup with 100,000 partitions in a folder, read by processes as users run them. */
export async function openWide(folder: string): Promise<Row[]> {
  const path = join(folder, 'wide')
  const partitions = 100_000
  await writeWideBackup(path, partitions)
  const name = `${partitions.toLocaleString('en')} partitions`
  const rows: Row[] = []
  const config = join(folder, 'wide.json')
  const target = { bootstrap_servers: ['localhost:9092'] }
  await writeFile(
    config,
    JSON.stringify({ mode: 'restore', backup_id: 'b', target, storage: { backend: 'filesystem', path } }),
  )
  const planner = join(import.meta.dirname, 'plan-restore.ts')
  const programs: [string, string[]][] = [
    ['`describe`', [cli, 'describe', '--path', path, '--backup-id', 'b', '--format', 'json']],
    ['the plan of a restore', [planner, path, String(partitions), config]],
  ]
  for (const [what, args] of programs) {
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
