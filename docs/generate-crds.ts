import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildDefinitions, formatDefinition } from '../src/operator/crd/definitions.ts'

const folder = join(import.meta.dirname, '../deploy/crds')

/** Writes deploy/crds, which `kubectl apply --server-side -f` takes. */
export async function writeDefinitions(): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const definition of buildDefinitions()) {
    await writeFile(join(folder, `${definition.spec.names.plural}.yaml`), formatDefinition(definition))
  }
}

if (import.meta.main) await writeDefinitions()
