import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildDashboard } from './dashboard/build-dashboard.ts'

/** The second is for the chart, which cannot read outside of its folder. */
export const dashboardFiles = [
  new URL('../deploy/grafana/kafka-backup-operator.json', import.meta.url),
  new URL('../deploy/helm/kafka-backup-operator/files/kafka-backup-operator.json', import.meta.url),
].map(file => fileURLToPath(file))

const formatter = fileURLToPath(new URL('../node_modules/.bin/biome', import.meta.url))

export async function writeDashboard(): Promise<void> {
  const text = `${JSON.stringify(buildDashboard(), null, 2)}\n`
  for (const file of dashboardFiles) await writeFile(file, text)
  await promisify(execFile)(formatter, ['format', '--write', ...dashboardFiles])
}
