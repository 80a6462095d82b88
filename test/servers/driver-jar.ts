import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustRun } from './run-command.ts'

/** The driver of the folder `java`, compiled against the clients of this version; `key` changes with its source. */
export async function driverJar(libs: string, version: string): Promise<{ jar: string; key: string }> {
  const sources = join(import.meta.dirname, 'java')
  const files = (await readdir(sources)).filter(name => name.endsWith('.java')).sort()
  const hash = createHash('sha256')
  for (const file of files) hash.update(await readFile(join(sources, file)))
  const key = `kafka-driver-${version}-${hash.digest('hex').slice(0, 16)}`
  const folder = await cached(key, async dir => {
    const classes = join(dir, 'classes')
    await mkdir(classes)
    const paths = files.map(file => join(sources, file))
    await mustRun('javac', ['-nowarn', '-d', classes, '-cp', join(libs, '*'), ...paths])
    await mustRun('jar', ['--create', '--file', join(dir, 'driver.jar'), '-C', classes, '.'])
    await rm(classes, { recursive: true })
  })
  return { jar: join(folder, 'driver.jar'), key }
}
