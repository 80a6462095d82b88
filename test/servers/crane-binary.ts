import { join } from 'node:path'
import { cached } from './cache.ts'
import { goInstall } from './go-build.ts'

export const craneVersion = '0.20.6'

/** The program, built with the Go toolchain: a registry of images in memory, and a client of one. */
export async function craneBinary(): Promise<string> {
  const folder = await cached(`crane-${craneVersion}`, dir =>
    goInstall(`github.com/google/go-containerregistry/cmd/crane@v${craneVersion}`, dir),
  )
  return join(folder, 'crane')
}
