import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { runMaven } from './maven.ts'

/** Kafka's own remote storage in a folder, which its tests use and Maven Central has; entries of a broker's class path. */
export async function tieredStorageClassPath(version: string): Promise<string[]> {
  const dir = await cached(`kafka-${version}-tiered-storage`, async draft => {
    const work = join(draft, 'work')
    await mkdir(work)
    await writeFile(join(work, 'pom.xml'), formatPom(version))
    await runMaven(work, ['dependency:copy-dependencies'])
    const jars = join(work, 'target', 'dependency')
    for (const jar of await readdir(jars)) await rename(join(jars, jar), join(draft, jar))
    await rm(work, { recursive: true })
  })
  return [join(dir, '*')]
}

/** Lets a broker keep old segments of tiered topics in this folder, and makes it quick to move them there. */
export function tieredProperties(folder: string): Record<string, string> {
  return {
    'remote.log.storage.system.enable': 'true',
    'remote.log.storage.manager.class.name': 'org.apache.kafka.server.log.remote.storage.LocalTieredStorage',
    'remote.log.storage.manager.impl.prefix': 'rsm.config.',
    'rsm.config.dir': folder,
    'remote.log.metadata.manager.listener.name': 'PLAINTEXT',
    'rlmm.config.remote.log.metadata.topic.replication.factor': '1',
    'rlmm.config.remote.log.metadata.topic.num.partitions': '1',
    'remote.log.manager.task.interval.ms': '200',
  }
}

/** Their own dependencies are on the class path of the broker. */
function formatPom(version: string): string {
  const artifacts = ['kafka-storage', 'kafka-clients'].map(
    artifact => `    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>${artifact}</artifactId><version>${version}</version><classifier>test</classifier>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>`,
  )
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafka-backup</groupId><artifactId>tiered-storage</artifactId><version>1</version>
  <dependencies>
${artifacts.join('\n')}
  </dependencies>
</project>
`
}
