import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustRun } from './run-command.ts'

export const fakeGcsVersion = '1.56.1'

/** The program, built once with the Go toolchain. Modules and build results stay where Go keeps them. */
export async function fakeGcsBinary(): Promise<string> {
  const folder = await cached(`fake-gcs-server-${fakeGcsVersion}`, async dir => {
    const module = `github.com/fsouza/fake-gcs-server@v${fakeGcsVersion}`
    await mustRun('go', ['install', module], { cwd: dir, env: { ...process.env, GOBIN: dir } })
  })
  return join(folder, 'fake-gcs-server')
}
