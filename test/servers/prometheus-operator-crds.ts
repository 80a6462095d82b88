import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { cached } from './cache.ts'
import { mustDownload } from './download.ts'
import type { KubeObject } from './kube-object.ts'

export const prometheusOperatorVersion = '0.85.0'

const files = ['servicemonitors', 'podmonitors', 'prometheusrules'].map(
  plural => `monitoring.coreos.com_${plural}.yaml`,
)

/** The definitions of what the Prometheus operator reads, from its own Go module. */
export async function prometheusOperatorCrds(): Promise<KubeObject[]> {
  const folder = await cached(`prometheus-operator-crds-${prometheusOperatorVersion}`, copyDefinitions)
  return Promise.all(files.map(async file => parse(await readFile(join(folder, file), 'utf8'))))
}

async function copyDefinitions(dir: string): Promise<void> {
  const module = `github.com/prometheus-operator/prometheus-operator@v${prometheusOperatorVersion}`
  const found = await mustDownload('go', ['mod', 'download', '-json', module], { cwd: dir })
  const { Dir } = JSON.parse(found) as { Dir: string }
  for (const file of files) await copyFile(join(Dir, 'example/prometheus-operator-crd', file), join(dir, file))
}
