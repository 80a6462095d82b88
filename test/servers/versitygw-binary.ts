import { join } from 'node:path'
import { cached } from './cache.ts'
import { goInstall } from './go-build.ts'

export const versitygwVersion = '1.8.0'

/** The program, built with the Go toolchain. */
export async function versitygwBinary(): Promise<string> {
  const folder = await cached(`versitygw-${versitygwVersion}`, dir =>
    goInstall(`github.com/versity/versitygw/cmd/versitygw@v${versitygwVersion}`, dir),
  )
  return join(folder, 'versitygw')
}
