import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from './cluster.ts'
import { type EffectiveConfigs, readAnyBrokerConfigs } from './topic-configs.ts'

export const METADATA_SETTING = 'offset.metadata.max.bytes'
export const DEFAULT_METADATA_LIMIT = 4096

/** How much metadata a broker takes with an offset: characters, although the setting speaks of bytes. Undefined where it is not known. */
export async function readMetadataLimit(cluster: Cluster, signal: AbortSignal): Promise<number | undefined> {
  try {
    return metadataLimitOf(await readAnyBrokerConfigs(cluster, signal))
  } catch (error) {
    signal.throwIfAborted()
    // Users may not be allowed to read it, and services may not offer it.
    if (error instanceof KafkaBackupError) return undefined
    throw error
  }
}

/** Pure. Services may hide a setting behind an empty value. */
export function metadataLimitOf(configs: EffectiveConfigs): number | undefined {
  const value = configs.get(METADATA_SETTING)?.value ?? ''
  return /^\d+$/.test(value) ? Number(value) : undefined
}
