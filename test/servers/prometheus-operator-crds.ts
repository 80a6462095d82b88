import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { KubeObject } from './kube-object.ts'
import { mustRun } from './run-command.ts'

export const prometheusOperatorVersion = '0.85.0'

/** The definitions of what the Prometheus operator reads, from its own module. Go keeps the module and its checksum. */
export async function prometheusOperatorCrds(): Promise<KubeObject[]> {
  const module = `github.com/prometheus-operator/prometheus-operator@v${prometheusOperatorVersion}`
  const found = await mustRun('go', ['mod', 'download', '-json', module], { cwd: tmpdir() })
  const { Dir } = JSON.parse(found) as { Dir: string }
  const folder = join(Dir, 'example/prometheus-operator-crd')
  const read = async (plural: string) =>
    parse(await readFile(join(folder, `monitoring.coreos.com_${plural}.yaml`), 'utf8'))
  return Promise.all(['servicemonitors', 'podmonitors', 'prometheusrules'].map(read))
}
