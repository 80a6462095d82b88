import { createHash } from 'node:crypto'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustDownload } from './download.ts'
import { goEnv, goFlags } from './go-build.ts'

/** kfake has no releases; this is the commit of 2026-09-18. It needs a newer franz-go than its module says. */
export const kfakeVersion = '0.0.0-20260918054303-01f206a7e32c'
const franzVersion = '1.22.2'

const source = join(import.meta.dirname, 'go-kfake', 'main.go')

/** The program of the folder `go-kfake`, built with the Go toolchain: the module is a library. */
export async function kfakeBinary(): Promise<string> {
  const hash = createHash('sha256').update(await readFile(source))
  const folder = await cached(`kfake-${kfakeVersion}-${hash.digest('hex').slice(0, 16)}`, build)
  return join(folder, 'kfake')
}

async function build(dir: string): Promise<void> {
  const require = `require (\n\tgithub.com/twmb/franz-go v${franzVersion}\n\tgithub.com/twmb/franz-go/pkg/kfake v${kfakeVersion}\n)\n`
  await writeFile(join(dir, 'go.mod'), `module kfake\n\ngo 1.26.0\n\n${require}`)
  await copyFile(source, join(dir, 'main.go'))
  await mustDownload('go', ['build', ...goFlags, '-mod=mod', '-ldflags=-s -w', '-o', 'kfake', '.'], {
    cwd: dir,
    env: goEnv(),
  })
}
