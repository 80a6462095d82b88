import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { configTables } from './config-table.ts'
import { jobJsonSchema } from './job-json-schema.ts'

const page = new URL('./configuration.md', import.meta.url)
const schema = new URL('./job.schema.json', import.meta.url)
const formatter = new URL('../node_modules/.bin/biome', import.meta.url)

/** Writes what the code knows of job files into docs/: the tables of fields and the JSON Schema. */
export async function writeConfigDocs(): Promise<void> {
  const text = await readFile(page, 'utf8')
  await writeFile(page, Object.entries(configTables()).reduce(replaceTable, text))
  await writeFile(schema, `${JSON.stringify(jobJsonSchema(), null, 2)}\n`)
  await promisify(execFile)(fileURLToPath(formatter), ['format', '--write', fileURLToPath(schema)])
}

function replaceTable(text: string, [name, table]: [string, string]): string {
  const marked = new RegExp(`(<!-- config-${name}:start -->\n)[\\s\\S]*(<!-- config-${name}:end -->)`)
  if (!marked.test(text)) throw new Error(`docs/configuration.md has no config-${name} markers`)
  return text.replace(marked, (_, start: string, end: string) => `${start}${table}\n${end}`)
}

if (import.meta.main) await writeConfigDocs()
