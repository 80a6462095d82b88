import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { runMaven } from './maven.ts'

export const defaultKafkaVersion = '4.1.1'
export const olderKafkaVersion = '3.9.1'
/** The oldest release whose KRaft mode is meant for production. */
export const oldestKafkaVersion = '3.3.2'

/** A folder with every jar that a broker, the official clients and the command line tools of this version need. */
export function kafkaLibs(version: string): Promise<string> {
  return cached(`kafka-${version}`, async dir => {
    const work = join(dir, 'work')
    await mkdir(work)
    await writeFile(join(work, 'pom.xml'), formatPom(version))
    await runMaven(work, ['dependency:copy-dependencies', '-DincludeScope=runtime'])
    const jars = join(work, 'target', 'dependency')
    for (const jar of await readdir(jars)) await rename(join(jars, jar), join(dir, jar))
    await rm(work, { recursive: true })
  })
}

/**
 * The releases bind slf4j differently or not at all; one binding that is configured by system properties serves all of
 * them, see `logFlags`.
 */
function formatPom(version: string): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafka-backup</groupId><artifactId>kafka-dist</artifactId><version>1</version>
  <dependencies>
${['kafka_2.13', 'kafka-tools'].map(artifact => formatKafkaDependency(artifact, version)).join('\n')}
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`
}

function formatKafkaDependency(artifact: string, version: string): string {
  return `    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>${artifact}</artifactId><version>${version}</version>
      <exclusions>
        <exclusion><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId></exclusion>
      </exclusions>
    </dependency>`
}

/** JVM flags: warnings and worse go to standard error with their time. */
export const logFlags = [
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
]

/** JVM flags of a process that lives for seconds: start-up counts more than the speed of hot code. */
export const quickStartFlags = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:-UsePerfData']

/** JVM flags of a process whose speed is measured or matters. */
export const steadyFlags = ['-XX:+UseParallelGC', '-XX:-UsePerfData']
