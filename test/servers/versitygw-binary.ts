import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustRun } from './run-command.ts'

export const versitygwVersion = '1.8.0'

/** The program, built once with the Go toolchain. Modules and build results stay where Go keeps them. */
export async function versitygwBinary(): Promise<string> {
  const folder = await cached(`versitygw-${versitygwVersion}`, async dir => {
    const module = `github.com/versity/versitygw/cmd/versitygw@v${versitygwVersion}`
    await mustRun('go', ['install', module], { cwd: dir, env: { ...process.env, GOBIN: dir } })
  })
  return join(folder, 'versitygw')
}
