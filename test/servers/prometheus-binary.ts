import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustDownload } from './download.ts'
import { goEnv, goFlags } from './go-build.ts'
import { mustRun } from './run-command.ts'

export const prometheusVersion = '3.15.0'

export interface PrometheusBinaries {
  prometheus: string
  promtool: string
}

/**
 * The two programs, built with the Go toolchain: without the pages for people, which are not in the Go module, and
 * of the ways to find targets only those that need no cloud, and Kubernetes. `go install` refuses a module with
 * replacements, so a module around it has them.
 */
export async function prometheusBinaries(): Promise<PrometheusBinaries> {
  const folder = await cached(`prometheus-${prometheusVersion}`, build)
  return { prometheus: join(folder, 'prometheus'), promtool: join(folder, 'promtool') }
}

async function build(dir: string): Promise<void> {
  const programs = ['prometheus', 'promtool'].map(name => `github.com/prometheus/prometheus/cmd/${name}`)
  const flags = [...goFlags, '-mod=mod', '-tags', 'remove_all_sd,enable_kubernetes_sd', '-o', `${dir}/`]
  const name = `-X github.com/prometheus/common/version.Version=${prometheusVersion}`
  await writeFile(join(dir, 'go.mod'), await formatModule(dir))
  await mustDownload('go', ['build', ...flags, '-ldflags', `-s -w ${name}`, ...programs], { cwd: dir, env: goEnv() })
}

/** Its Go module counts by its minor version: 3.15.0 is v0.315.0. */
async function formatModule(dir: string): Promise<string> {
  const path = 'github.com/prometheus/prometheus'
  const [major, minor, patch] = prometheusVersion.split('.')
  const version = `v0.${major}${minor?.padStart(2, '0')}.${patch}`
  const found = await mustDownload('go', ['mod', 'download', '-json', `${path}@${version}`], { cwd: dir })
  const { GoMod } = JSON.parse(found) as { GoMod: string }
  const { Replace } = JSON.parse(await mustRun('go', ['mod', 'edit', '-json', GoMod], { cwd: dir })) as {
    Replace: { Old: { Path: string }; New: { Path: string; Version: string } }[] | null
  }
  const replaced = (Replace ?? []).map(each => `replace ${each.Old.Path} => ${each.New.Path} ${each.New.Version}\n`)
  return `module prometheus-binaries\n\ngo 1.26.0\n\nrequire ${path} ${version}\n\n${replaced.join('')}`
}
