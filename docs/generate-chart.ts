import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { crdTemplates } from './crd-templates.ts'
import { valuesTable } from './values-table.ts'

const chart = resolve(import.meta.dirname, '../deploy/helm/kafka-backup-operator')

/** Writes the generated files of the chart, and removes outdated definitions. */
export async function writeChart(): Promise<void> {
  const files = crdTemplates()
  for (const name of await readdir(join(chart, 'templates/crds')).catch(() => [])) {
    if (!(`templates/crds/${name}` in files)) await rm(join(chart, 'templates/crds', name))
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(chart, path)), { recursive: true })
    await writeFile(join(chart, path), text)
  }
  const readme = join(chart, 'README.md')
  const page = await readFile(readme, 'utf8')
  const table = valuesTable(await readFile(join(chart, 'values.yaml'), 'utf8'))
  const markers = /(<!-- values:start -->\n)[\s\S]*?(<!-- values:end -->)/
  await writeFile(
    readme,
    page.replace(markers, (_, start, end) => `${start}${table.trim()}${end}`),
  )
}
