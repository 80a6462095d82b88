import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { runMaven } from './maven.ts'
import { mustRun } from './run-command.ts'

/** The newest line that runs on Java 17. */
export const defaultApicurioVersion = '3.0.9'

/** The folder of the unpacked program; its jar finds the libraries beside it. */
export async function apicurioJar(version: string): Promise<string> {
  const folder = await cached(`apicurio-${version}`, async dir => {
    const artifact = `io.apicurio:apicurio-registry-app:${version}:tar.gz:all`
    await runMaven(dir, ['dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${dir}`])
    for (const archive of (await readdir(dir)).filter(name => name.endsWith('.tar.gz'))) {
      await mustRun('tar', ['-xzf', archive], { cwd: dir })
      await rm(join(dir, archive))
    }
  })
  return join(folder, `apicurio-registry-app-${version}-runner.jar`)
}
