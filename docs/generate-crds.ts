import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildDefinitions } from '../src/operator/crd/build-definitions.ts'
import { formatDefinition } from '../src/operator/crd/format-definition.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'deploy/crds')

/** Writes deploy/crds, which `kubectl apply --server-side -f` takes. */
export async function writeDefinitions(): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const definition of buildDefinitions()) {
    await writeFile(join(folder, `${definition.spec.names.plural}.yaml`), formatDefinition(definition))
  }
  await promisify(execFile)(join(root, 'node_modules/.bin/biome'), ['format', '--write', folder])
}

if (import.meta.main) await writeDefinitions()
