import { randomBytes } from 'node:crypto'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { kafkaLibs, logFlags, quickStartFlags } from './kafka-dist.ts'
import { formatProperties } from './kafka-properties.ts'
import { mustRun } from './run-command.ts'

/** Makes a broker offer features that are not production ready; which levels it has is decided by formatting. */
export const UNSTABLE_FEATURES = 'unstable.feature.versions.enable'

/** A folder that Kafka's own tool has formatted, for the node 1 of some cluster. */
export function formattedStorage(version: string, isUnstable = false): Promise<string> {
  return cached(`kafka-${version}-storage${isUnstable ? '-unstable' : ''}`, async dir => {
    const properties = join(dir, 'server.properties')
    const sample = { ...sampleProperties(dir), ...(isUnstable && { [UNSTABLE_FEATURES]: 'true' }) }
    await writeFile(properties, formatProperties(sample))
    const tool = ['kafka.tools.StorageTool', 'format', '-t', newId(), '-c', properties]
    await mustRun('java', [...quickStartFlags, ...logFlags, '-cp', join(await kafkaLibs(version), '*'), ...tool])
  })
}

export interface Formatting {
  version: string
  clusterId: string
  nodeId: number
  isUnstable: boolean
}

/**
 * Formats the data folder of a broker: the feature levels are those that Kafka's tool wrote, the identities are new.
 * The tool itself takes as much CPU time as a third of the broker's start.
 */
export async function formatStorage(
  dataDir: string,
  { version, clusterId, nodeId, isUnstable }: Formatting,
): Promise<void> {
  const formatted = await formattedStorage(version, isUnstable)
  const sample = await readFile(join(formatted, 'meta.properties'), 'utf8')
  const meta = sample
    .replace(/^cluster\.id=.*$/m, `cluster.id=${clusterId}`)
    .replace(/^node\.id=.*$/m, `node.id=${nodeId}`)
    // Releases before 3.7 have none.
    .replace(/^directory\.id=.*$/m, () => `directory.id=${newId()}`)
  await mkdir(dataDir)
  await writeFile(join(dataDir, 'meta.properties'), meta)
  await copyFile(join(formatted, 'bootstrap.checkpoint'), join(dataDir, 'bootstrap.checkpoint'))
}

/** An ID as Kafka writes them. */
export function newId(): string {
  return randomBytes(16).toString('base64url').replace(/^-/, 'A')
}

function sampleProperties(dir: string): Record<string, string> {
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': '1@127.0.0.1:9093',
    'controller.listener.names': 'CONTROLLER',
    listeners: 'PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': dir,
  }
}
