import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustRun } from './run-command.ts'

export const helmVersion = '3.22.0'

/** The program, built once with the Go toolchain. Modules and build results stay where Go keeps them. */
export async function helmBinary(): Promise<string> {
  const folder = await cached(`helm-${helmVersion}`, async dir => {
    const module = `helm.sh/helm/v3/cmd/helm@v${helmVersion}`
    await mustRun('go', ['install', module], { cwd: dir, env: { ...process.env, GOBIN: dir } })
  })
  return join(folder, 'helm')
}
