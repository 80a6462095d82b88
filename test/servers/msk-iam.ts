import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { quickStartFlags } from './kafka-dist.ts'
import { runMaven } from './maven.ts'
import { mustRun } from './run-command.ts'

const libraryVersion = '2.3.2'

/** The class path of AWS's client library for MSK and of what the folder `java-msk` has for it. */
export async function mskIamClassPath(kafkaLibs: string): Promise<string[]> {
  const libs = await cached(`aws-msk-iam-auth-${libraryVersion}`, async dir => {
    const work = join(dir, 'work')
    await mkdir(work)
    await writeFile(join(work, 'pom.xml'), pom)
    await runMaven(work, ['dependency:copy-dependencies', '-DincludeScope=runtime'])
    const jars = join(work, 'target', 'dependency')
    // The broker brings its own logging.
    const wanted = (await readdir(jars)).filter(jar => !jar.startsWith('slf4j'))
    for (const jar of wanted) await rename(join(jars, jar), join(dir, jar))
    await rm(work, { recursive: true })
  })
  return [await compile(libs, kafkaLibs), join(libs, '*')]
}

/** What AWS's own client sends to a broker of this name. */
export async function awsPayload(
  host: string,
  kafkaLibs: string,
  env: Record<string, string>,
): Promise<Record<string, string>> {
  const classPath = [...(await mskIamClassPath(kafkaLibs)), join(kafkaLibs, '*')].join(':')
  const output = await mustRun('java', [...quickStartFlags, '-cp', classPath, 'AwsPayload', host], {
    env: { ...process.env, ...env },
  })
  return JSON.parse(output)
}

async function compile(libs: string, kafkaLibs: string): Promise<string> {
  const sources = join(import.meta.dirname, 'java-msk')
  const files = (await readdir(sources)).sort().map(name => join(sources, name))
  const hash = createHash('sha256')
  for (const file of files) hash.update(await readFile(file))
  return cached(`msk-iam-classes-${hash.digest('hex').slice(0, 16)}`, async dir => {
    await mustRun('javac', ['-nowarn', '-d', dir, '-cp', `${join(libs, '*')}:${join(kafkaLibs, '*')}`, ...files])
  })
}

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafka-backup</groupId><artifactId>msk-iam</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>software.amazon.msk</groupId><artifactId>aws-msk-iam-auth</artifactId>
      <version>${libraryVersion}</version>
    </dependency>
  </dependencies>
</project>
`
