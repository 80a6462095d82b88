import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustRun } from './run-command.ts'

interface JavaJar {
  jar: string
  /** Changes with its source. */
  key: string
}

/** The driver of the folder `java`, compiled against the clients of this version. */
export function driverJar(libs: string, version: string): Promise<JavaJar> {
  return compileJar('java', `kafka-driver-${version}`, libs)
}

/** What starts a broker together with its ZooKeeper. */
export function zooKeeperJar(libs: string, version: string): Promise<JavaJar> {
  return compileJar('java-zookeeper', `kafka-${version}-with-zookeeper`, libs)
}

async function compileJar(folderName: string, name: string, libs: string): Promise<JavaJar> {
  const sources = join(import.meta.dirname, folderName)
  const files = (await readdir(sources)).filter(name => name.endsWith('.java')).sort()
  const hash = createHash('sha256')
  for (const file of files) hash.update(await readFile(join(sources, file)))
  const key = `${name}-${hash.digest('hex').slice(0, 16)}`
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
