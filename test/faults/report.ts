import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Fault, FaultResult } from './fault.ts'

export interface SoakResult {
  date: string
  command: string
  results: FaultResult[]
}

/** The parts of a soak, which may be run alone. */
export type Figures = Record<'backup' | 'restore', SoakResult>

const page = join(import.meta.dirname, '../../docs/reliability.md')

/** Puts the table into docs/reliability.md and returns it. */
export async function writeReport(figures: Figures): Promise<string> {
  const table = formatFigures(figures)
  const text = await readFile(page, 'utf8')
  await writeFile(page, text.replace(/(<!-- soak:start -->\n)[\s\S]*?(<!-- soak:end -->)/, `$1${table}$2`))
  return table
}

export function formatFigures({ backup, restore }: Figures): string {
  return `${formatPart('Backups', backup)}\n${formatPart('Restores', restore)}`
}

function formatPart(part: string, { date, command, results }: SoakResult): string {
  const rows = results.map(
    ({ name, injected, broken, seen, durationMs }) =>
      `| ${name} | ${injected.toLocaleString('en')} | ${formatBroken(broken)} | ${formatCounts(seen)} | ${Math.round(durationMs / 1000)} s |`,
  )
  return `${part}, made on ${date} with \`${command}\`.

| fault | injected | broken promises | what was seen | took |
|---|---:|---|---|---:|
${rows.join('\n')}
`
}

/** What is tried and what holds, for docs/reliability.md. */
export function formatFaults(faults: readonly Fault[]): string {
  const rows = faults.map(({ name, inject, promise }) => `| ${name} | ${inject} | ${promise} |`)
  return `| Fault | What is done | What holds |\n|---|---|---|\n${rows.join('\n')}\n`
}

function formatBroken(broken: Readonly<Record<string, number>>): string {
  const names = Object.keys(broken).join(', ')
  return Object.values(broken).every(count => count === 0) ? `**0** (${names})` : formatCounts(broken)
}

function formatCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString('en')} × ${name}`)
    .join(', ')
}
