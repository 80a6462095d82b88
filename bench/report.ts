import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatGoal, type Row } from './row.ts'

export interface BenchResult {
  date: string
  command: string
  machine: { cpu: string; cores: number; memory_gb: number }
  versions: { node: string; kafka: string; kcat: string }
  rows: Row[]
}

const page = join(import.meta.dirname, '../docs/benchmarks.md')

/** Puts the table into docs/benchmarks.md and returns it. */
export async function writeReport(result: BenchResult): Promise<string> {
  const table = formatTable(result)
  const text = await readFile(page, 'utf8')
  await writeFile(page, text.replace(/(<!-- bench:start -->\n)[\s\S]*?(<!-- bench:end -->)/, `$1${table}$2`))
  return table
}

export function formatTable({ date, command, machine, versions, rows }: BenchResult): string {
  const lines = rows.map(row => `| ${row.name} | ${row.measure} | ${formatValue(row)} | ${formatGoal(row)} |`)
  return `Measured on ${date} with \`${command}\` on ${machine.cores} cores (${machine.cpu}), ${machine.memory_gb} GB of memory;
Node ${versions.node}, Kafka ${versions.kafka}, kcat ${versions.kcat}.

| what | measure | result | limit |
|---|---|---:|---:|
${lines.join('\n')}
`
}

function formatValue({ value, unit }: Row): string {
  return unit === 'MB' ? `${value.toFixed(0)} MB` : unit === 'ratio' ? value.toFixed(2) : value.toFixed(3)
}
