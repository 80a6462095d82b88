import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, newRestoreFaults, restoreFaults } from '../test/faults/catalog.ts'
import { formatFaults } from '../test/faults/report.ts'
import { formatResults, readResults } from '../test/fuzz/report.ts'
import { alertsFile, alertsTable } from './alerts-table.ts'
import { cliReference, detailReference, errorReference, lossReference } from './cli-reference.ts'
import { formatLayout } from './dashboard/layout.ts'
import { writeChart } from './generate-chart.ts'
import { writeConfigDocs } from './generate-config.ts'
import { writeDefinitions } from './generate-crds.ts'
import { writeDashboard } from './generate-dashboard.ts'
import { jobMetricsTable, operatorMetricsTable, progressFieldsTable } from './metrics-table.ts'
import { operatorTables } from './operator-tables.ts'
import { progressTable } from './progress-table.ts'
import { requestReference } from './request-table.ts'

/** `make docs`: writes into the pages what the code says; test/docs.test.ts fails where they differ. */
await writeConfigDocs()
await fill('cli.md', 'cli', cliReference())
await fill('errors.md', 'errors', errorReference())
await fill('errors.md', 'error-details', detailReference())
await fill('schemas.md', 'losses', lossReference())
await fill('kafka-versions.md', 'requests', requestReference())
await fill('metrics.md', 'job-metrics', jobMetricsTable())
await fill('metrics.md', 'progress-fields', progressFieldsTable())
await fill('monitoring.md', 'operator-metrics', operatorMetricsTable())
await fill('monitoring.md', 'alerts', alertsTable(await readFile(alertsFile, 'utf8')))
await fill('monitoring.md', 'dashboard', formatLayout())
await writeDashboard()
await fill('library.md', 'progress', progressTable())
await fill('library.md', 'example', `\`\`\`ts\n${await readExample()}\`\`\``)
for (const [name, table] of Object.entries(operatorTables())) await fill('operator.md', `operator-${name}`, table)
await writeDefinitions()
await writeChart()
await fill('reliability.md', 'fuzz', formatResults(readResults()))
await fill('reliability.md', 'faults', formatFaults([...faults, ...restoreFaults, ...newRestoreFaults]))

function readExample(): Promise<string> {
  return readFile(join(import.meta.dirname, '../examples/backup-and-restore.ts'), 'utf8')
}

async function fill(page: string, name: string, text: string): Promise<void> {
  const path = join(import.meta.dirname, page)
  const markers = new RegExp(`(<!-- ${name}:start -->\n)[\\s\\S]*?(\n<!-- ${name}:end -->)`)
  await writeFile(
    path,
    (await readFile(path, 'utf8')).replace(markers, (_, start, end) => `${start}${text.trim()}${end}`),
  )
}
