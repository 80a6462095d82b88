import { join } from 'node:path'
import { cached } from './cache.ts'
import { goInstall } from './go-build.ts'

export const helmVersion = '3.22.0'

/** The program, built with the Go toolchain. */
export async function helmBinary(): Promise<string> {
  const folder = await cached(`helm-${helmVersion}`, dir => goInstall(`helm.sh/helm/v3/cmd/helm@v${helmVersion}`, dir))
  return join(folder, 'helm')
}
