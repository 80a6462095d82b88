import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { runMaven } from './maven.ts'

export const defaultKafkaVersion = '4.1.1'
/** The newest release of Maven Central. */
export const newestKafkaVersion = '4.3.1'
export const olderKafkaVersion = '3.9.1'
/** The oldest release whose KRaft mode is meant for production. */
export const oldestKraftVersion = '3.3.2'
/** The last release that all clusters ran with ZooKeeper. It still writes the message formats v0 and v1. */
export const zooKeeperKafkaVersion = '2.8.2'
/** The oldest release that the official clients of today speak to. */
export const oldestKafkaVersion = '2.1.1'

/** Releases that the tests start with ZooKeeper. */
export function hasZooKeeper(version: string): boolean {
  return /^[012]\./.test(version)
}

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
${[coreArtifact(version), 'kafka-tools'].map(artifact => formatKafkaDependency(artifact, version)).join('\n')}
${hasZooKeeper(version) ? zooKeeperDependencies : ''}    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`
}

/** Scala 2.13 came with Kafka 2.4. */
function coreArtifact(version: string): string {
  return /^([01]|2\.[0-3])\./.test(version) ? 'kafka_2.12' : 'kafka_2.13'
}

/**
 * The ZooKeeper of Kafka 2.1 does not start with Java 14 and later, which changed how addresses are printed. Brokers of that
 * time need the classes of log4j, which came with the binding that is left out.
 */
const zooKeeperDependencies = `    <dependency><groupId>org.apache.zookeeper</groupId><artifactId>zookeeper</artifactId><version>3.5.10</version>
      <exclusions><exclusion><groupId>org.slf4j</groupId><artifactId>slf4j-log4j12</artifactId></exclusion></exclusions>
    </dependency>
    <dependency><groupId>log4j</groupId><artifactId>log4j</artifactId><version>1.2.17</version></dependency>
`

function formatKafkaDependency(artifact: string, version: string): string {
  return `    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>${artifact}</artifactId><version>${version}</version>
      <exclusions>
        <exclusion><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId></exclusion>
        <exclusion><groupId>org.slf4j</groupId><artifactId>slf4j-log4j12</artifactId></exclusion>
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

/**
 * JVM flags of a broker that sends much over TLS. The first compiler of the JVM does not use the instructions of the processor for AES,
 * which then takes ten times as long; the second takes a third of the CPU time of a broker if it compiles anything else.
 */
export const tlsFlags = [
  '-XX:TieredStopAtLevel=4',
  '-XX:+UnlockDiagnosticVMOptions',
  `-XX:CompilerDirectivesFile=${join(import.meta.dirname, 'compile-crypto.json')}`,
]

/** JVM flags of a process whose speed is measured or matters. */
export const steadyFlags = ['-XX:+UseParallelGC', '-XX:-UsePerfData']
