import type { Finding } from '../../observe/finding.ts'
import type { OutputStyle } from '../output-style.ts'
import { type Column, formatTable } from '../table.ts'

const remedies: Column<Finding> = { title: 'WHAT TO DO', wraps: true, cell: finding => finding.remedy }

/** A titled table of preflight findings with their remedies; empty without findings. */
export function formatFindings(title: string, findings: readonly Finding[], style: OutputStyle): string[] {
  if (findings.length === 0) return []
  const rows = formatTable<Finding>(
    [
      {
        title: '',
        cell: finding => finding.severity,
        paint: (text, { severity }) => (severity === 'error' ? style.bad(text) : style.warn(text)),
      },
      { title: 'SUBJECT', cell: finding => finding.subject, shrinks: true },
      { title: 'PROBLEM', wraps: true, cell: finding => finding.problem },
      ...(findings.some(({ remedy }) => remedy !== '') ? [remedies] : []),
    ],
    findings,
    style,
  )
  return ['', style.warn(title), ...rows]
}
