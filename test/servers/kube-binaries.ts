import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustDownload } from './download.ts'
import { goEnv, goFlags } from './go-build.ts'
import { mustRun } from './run-command.ts'

export const kubeVersion = '1.34.3'

export interface KubeBinaries {
  apiServer: string
  controllerManager: string
}

export interface NodeBinaries {
  kubelet: string
  scheduler: string
}

/**
 * The control plane, built with the Go toolchain. Kubernetes' own module says which version of every other module
 * belongs to it, and Go's checksum database vouches for the content, so a module without a `go.sum` of ours builds
 * the same programs everywhere.
 */
export async function kubeBinaries(): Promise<KubeBinaries> {
  const names = ['kube-apiserver', 'kube-controller-manager']
  const folder = await cached(`kubernetes-${kubeVersion}`, dir => build(dir, names))
  return { apiServer: join(folder, 'kube-apiserver'), controllerManager: join(folder, 'kube-controller-manager') }
}

/** What runs pods and decides where, built in the same way. */
export async function nodeBinaries(): Promise<NodeBinaries> {
  const folder = await cached(`kubernetes-node-${kubeVersion}`, dir => build(dir, ['kubelet', 'kube-scheduler']))
  return { kubelet: join(folder, 'kubelet'), scheduler: join(folder, 'kube-scheduler') }
}

async function build(dir: string, names: readonly string[]): Promise<void> {
  const programs = names.map(name => `k8s.io/kubernetes/cmd/${name}`)
  const flags = [...goFlags, '-mod=mod', '-ldflags', `-s -w ${formatVersionFlags()}`, '-o', `${dir}/`]
  await writeFile(join(dir, 'go.mod'), await formatModule(dir))
  await mustDownload('go', ['build', ...flags, ...programs], { cwd: dir, env: goEnv() })
}

/** The staged modules have the version 0.0.0 there and are published with the number of the release. */
async function formatModule(dir: string): Promise<string> {
  const require = `module kube-binaries\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes v${kubeVersion}\n`
  const found = await mustDownload('go', ['mod', 'download', '-json', `k8s.io/kubernetes@v${kubeVersion}`], {
    cwd: dir,
  })
  const { GoMod } = JSON.parse(found) as { GoMod: string }
  const { Require } = JSON.parse(await mustRun('go', ['mod', 'edit', '-json', GoMod], { cwd: dir })) as {
    Require: { Path: string; Version: string }[]
  }
  const staged = Require.filter(({ Version }) => Version === 'v0.0.0').map(({ Path }) => Path)
  const version = `v${kubeVersion.replace(/^1\./, '0.')}`
  return `${require}\n${staged.map(path => `replace ${path} => ${path} ${version}\n`).join('')}`
}

/** What `/version` tells: charts ask for a least version, and without these it is 0.0.0. */
function formatVersionFlags(): string {
  const [major, minor] = kubeVersion.split('.')
  const values = { gitVersion: `v${kubeVersion}`, gitMajor: major, gitMinor: minor }
  return Object.entries(values)
    .map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
    .join(' ')
}
