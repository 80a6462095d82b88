import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatGoal, isMissed, type Row } from './row.ts'

export interface BenchResult {
  date: string
  command: string
  machine: { cpu: string; cores: number; memory_gb: number }
  /** Of Kafka and kcat, where the part uses them. */
  versions: { node: string; kafka?: string; kcat?: string }
  rows: Row[]
}

/** The parts of the benchmark, each measured in one run; the figures of two may be of different ones. */
export const benchParts = [
  'backup',
  'restore',
  'far',
  'schemas',
  'search',
  'registry',
  'scale',
  'wide',
  'continuous',
  'operator',
] as const
export type BenchPart = (typeof benchParts)[number]

/** Where the figures of a part are shown, from the root of the repository. */
export function pageOf(part: string): string {
  return part === 'operator' ? 'docs/operator.md' : 'docs/benchmarks.md'
}

/** Beside a limit in a table. */
export const MISSED = '**missed**'

const resultsFile = join(import.meta.dirname, 'results.json')

/** Puts the part's table into docs/benchmarks.md, its figures into results.json, and returns the table. */
export async function writeReport(part: BenchPart, result: BenchResult): Promise<string> {
  const results = { ...JSON.parse(await readFile(resultsFile, 'utf8')), [part]: result }
  await writeFile(resultsFile, `${JSON.stringify(results, null, 2)}\n`)
  const table = formatTable(result)
  const page = join(import.meta.dirname, '..', pageOf(part))
  const text = await readFile(page, 'utf8')
  const marks = new RegExp(`(<!-- bench-${part}:start -->\n)[\\s\\S]*?(<!-- bench-${part}:end -->)`)
  await writeFile(page, text.replace(marks, `$1${table}$2`))
  return table
}

export function formatTable({ date, command, machine, versions, rows }: BenchResult): string {
  const goalOf = (row: Row) => (isMissed(row) ? `${formatGoal(row)}, ${MISSED}` : formatGoal(row))
  const lines = rows.map(row => `| ${row.name} | ${row.measure} | ${formatValue(row)} | ${goalOf(row)} |`)
  return `Measured on ${date} with \`${command}\` on ${machine.cores} cores (${machine.cpu}), ${machine.memory_gb} GB of memory;
${formatVersions(versions)}.

| what | measure | result | limit |
|---|---|---:|---:|
${lines.join('\n')}
`
}

function formatVersions({ node, kafka, kcat }: BenchResult['versions']): string {
  return kafka === undefined ? `Node ${node}` : `Node ${node}, Kafka ${kafka}, kcat ${kcat}`
}

function formatValue({ value, unit }: Row): string {
  switch (unit) {
    case 'MB':
      return `${value.toFixed(0)} MB`
    case 's':
      return `${value.toFixed(1)} s`
    case 'requests':
    case 'objects':
      return Math.round(value).toLocaleString('en')
    case 'ms':
      return `${value.toFixed(1)} ms`
    case 'bytes':
      return `${Math.round(value).toLocaleString('en')} bytes`
    case 'ratio':
    case 'writes':
      return value.toFixed(2)
    case 'requests/partition':
      return value.toFixed(3)
    default:
      return unit satisfies never
  }
}
