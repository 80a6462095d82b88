import { formatBytes, formatCount, formatDuration } from '../lib/units.ts'
import type { Evidence, EvidenceTopic } from './evidence.ts'

/** A section of the report: pairs of a name and a text, or a table. */
interface Section {
  title: string
  facts?: readonly (readonly [string, string])[]
  rows?: { head: readonly string[]; body: readonly (readonly string[])[] }
}

/** Pure. The report as text. */
export function formatTextReport(evidence: Evidence): string {
  const lines = [titleOf(evidence), '='.repeat(titleOf(evidence).length), '', verdictOf(evidence)]
  for (const { title, facts = [], rows } of sectionsOf(evidence)) {
    lines.push('', title, '-'.repeat(title.length))
    const width = Math.max(0, ...facts.map(([name]) => name.length))
    lines.push(...facts.map(([name, text]) => `${name.padEnd(width)}  ${text}`))
    if (rows) lines.push(...alignRows([rows.head, ...rows.body]))
  }
  return `${lines.map(line => plain(line).trimEnd()).join('\n')}\n`
}

/** Names come from clusters and archives: a report has no control characters. */
function plain(line: string): string {
  return line.replaceAll(/\p{Cc}/gu, '?')
}

function alignRows(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map(row => row[at]?.length ?? 0)))
  return rows.map(row => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '))
}

/** Pure. The same as a page without scripts, links and foreign resources. */
export function formatHtmlReport(evidence: Evidence): string {
  const sections = sectionsOf(evidence).map(({ title, facts = [], rows }) => {
    const pairs = facts.map(
      ([name, text]) => `<tr><th scope="row">${escapeHtml(name)}</th><td>${escapeHtml(text)}</td></tr>`,
    )
    const list = pairs.length > 0 ? `<table>${pairs.join('')}</table>` : ''
    return `<h2>${escapeHtml(title)}</h2>${list}${rows ? formatHtmlRows(rows) : ''}`
  })
  const title = escapeHtml(titleOf(evidence))
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>${STYLE}</style></head>
<body><h1>${title}</h1><p class="${evidence.result}">${escapeHtml(verdictOf(evidence))}</p>
${sections.join('\n')}
</body></html>
`
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}' +
  'table{border-collapse:collapse;margin:.5rem 0}th,td{border:1px solid #999;padding:.25rem .6rem;text-align:left;overflow-wrap:anywhere}' +
  '.proven{color:#064;font-weight:bold}.failed{color:#900;font-weight:bold}'

function formatHtmlRows({ head, body }: NonNullable<Section['rows']>): string {
  const row = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map(cell => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`
  return `<table>${row(head, 'th')}${body.map(cells => row(cells, 'td')).join('')}</table>`
}

function escapeHtml(text: string): string {
  const marks: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
  return plain(text).replaceAll(/[&<>"']/g, mark => marks[mark] ?? mark)
}

function titleOf({ backup }: Evidence): string {
  return `Restore drill of backup ${backup.id}`
}

function verdictOf({ result, failure, totals, scope }: Evidence): string {
  if (result === 'failed') return `NOT PROVEN: ${failure?.message ?? 'unknown'}`
  const extent = `${formatCount(totals.records)} records of ${formatCount(totals.topics)} topics`
  return `PROVEN: ${extent} (${scope}) were restored, read back and found equal to the backup.`
}

function sectionsOf(evidence: Evidence): Section[] {
  const { gaps, warnings, clean_up } = evidence
  return [
    { title: 'Drill', facts: drillFacts(evidence) },
    { title: 'Recovery time', facts: recoveryFacts(evidence) },
    { title: 'Topics', rows: { head: TOPIC_HEAD, body: evidence.topics.map(topicRow) } },
    ...(evidence.totals.differences > 0
      ? [{ title: 'Differences', rows: { head: DIFFERENCE_HEAD, body: evidence.topics.flatMap(differenceRows) } }]
      : []),
    ...(gaps.length > 0
      ? [
          {
            title: 'Offsets that the backup lacks',
            rows: {
              head: ['Topic', 'Partition', 'From', 'To', 'Reason'],
              body: gaps.map(one => [one.topic, `${one.partition}`, `${one.from}`, `${one.to ?? '-'}`, one.reason]),
            },
          },
        ]
      : []),
    ...(warnings.length > 0
      ? [{ title: 'Warnings', rows: { head: ['Warning'], body: warnings.map(one => [one]) } }]
      : []),
    {
      title: 'Removed from the target',
      rows: {
        head: ['Topic', 'ID', 'Result'],
        body: [
          ...clean_up.removed.map(({ name, id }) => [name, id, 'removed']),
          ...clean_up.left.map(({ name, id, reason }) => [name, id ?? '-', `LEFT: ${reason}`]),
        ],
      },
    },
  ]
}

function drillFacts({ backup, target, schemas, tool, signer, ...evidence }: Evidence): [string, string][] {
  return [
    ['Backup', `${backup.id} at ${backup.location}`],
    ['Generation', `${backup.generation}, committed ${backup.committed_at}`],
    ['Source cluster', backup.source_cluster_id ?? 'unknown'],
    ['Target cluster', target.cluster_id ?? 'unknown'],
    ['Part', evidence.scope],
    ['Started', evidence.started_at],
    ['Finished', evidence.finished_at],
    [
      'Schemas',
      schemas ? `${formatCount(schemas.versions)} versions registered in an embedded registry` : 'not restored',
    ],
    ['Program', `${tool.name} ${tool.version}, Node.js ${tool.node}, on ${evidence.host}`],
    ['Run', evidence.run],
    ['Signed', signer ? `${signer.algorithm}, key ${signer.key_id}` : 'no'],
  ]
}

function recoveryFacts({ recovery, totals }: Evidence): [string, string][] {
  if (!recovery) return [['Measured', 'no: the restore did not end']]
  return [
    ['Total', `${formatDuration(recovery.total * 1000)}, without the comparison`],
    ['Schemas', formatDuration(recovery.schemas * 1000)],
    [
      'Records',
      `${formatDuration(recovery.records * 1000)} for ${formatBytes(totals.bytes)} (${formatBytes(recovery.bytes_per_second)}/s)`,
    ],
    ['Comparison', formatDuration(recovery.comparison * 1000)],
  ]
}

const TOPIC_HEAD = ['Topic', 'Restored as', 'Topic ID', 'Partitions', 'Records', 'Compared', 'Differences']

function topicRow({ source, scratch, id, partitions, mixed_partitions, records }: EvidenceTopic): string[] {
  const both = [...partitions, ...mixed_partitions]
  const compared = both.reduce((sum, one) => sum + (one.compared ?? 0), 0)
  const differences = both.reduce((sum, one) => sum + one.differences.length, 0)
  return [source, scratch, id ?? '-', `${partitions.length}`, `${records}`, `${compared}`, `${differences}`]
}

const DIFFERENCE_HEAD = ['Topic', 'Partition', 'Kind', 'Source offset', 'Target offset', 'Fields']

/** The partition is that of the source; a record that is not in the backup has only one of the target. */
function differenceRows({ source, partitions, mixed_partitions }: EvidenceTopic): string[][] {
  const own = partitions.flatMap(({ partition, differences }) =>
    differences.map(one => ({ ...one, place: `${partition}` })),
  )
  const mixed = mixed_partitions.flatMap(({ partition, differences }) =>
    differences.map(one => ({ ...one, place: one.source_partition?.toString() ?? `target ${partition}` })),
  )
  return [...own, ...mixed].map(({ place, kind, source_offset, target_offset, fields }) => [
    ...[source, place, kind, `${source_offset ?? '-'}`, `${target_offset ?? '-'}`, fields.join(', ')],
  ])
}
