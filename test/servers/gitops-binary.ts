import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustDownload } from './download.ts'
import { goEnv, goFlags } from './go-build.ts'

export const kstatusVersion = '0.37.2'
const luaVersion = '1.1.1'
const source = join(import.meta.dirname, 'go-gitops/main.go')

/** A program that judges resources as Flux and Argo CD do, built with the Go toolchain. */
export async function gitopsBinary(): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 16)
  return join(await cached(`gitops-${kstatusVersion}-${luaVersion}-${hash}`, build), 'gitops')
}

async function build(dir: string): Promise<void> {
  const required = [`sigs.k8s.io/cli-utils v${kstatusVersion}`, `github.com/yuin/gopher-lua v${luaVersion}`]
  const requires = required.map(each => `require ${each}\n`).join('')
  await writeFile(join(dir, 'go.mod'), `module gitops\n\ngo 1.24.0\n\n${requires}`)
  await copyFile(source, join(dir, 'main.go'))
  const flags = [...goFlags, '-mod=mod', '-ldflags=-s -w']
  await mustDownload('go', ['build', ...flags, '-o', 'gitops', '.'], { cwd: dir, env: goEnv() })
}
