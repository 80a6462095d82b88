import { join } from 'node:path'
import { cached } from './cache.ts'
import { goInstall } from './go-build.ts'

export const fakeGcsVersion = '1.56.1'

/** The program, built with the Go toolchain. */
export async function fakeGcsBinary(): Promise<string> {
  const folder = await cached(`fake-gcs-server-${fakeGcsVersion}`, dir =>
    goInstall(`github.com/fsouza/fake-gcs-server@v${fakeGcsVersion}`, dir),
  )
  return join(folder, 'fake-gcs-server')
}
