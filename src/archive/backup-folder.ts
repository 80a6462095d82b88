import { KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { parseGeneration } from './layout.ts'

/** Fails where the location is the folder of one backup, in which no backups are: the folder above it is meant. */
export async function refuseBackupFolder(storage: Storage, signal: AbortSignal): Promise<void> {
  for await (const { key } of storage.list('manifests/', signal)) {
    if (parseGeneration(`/${key}`) === undefined) continue
    const [, above = '', id = '', query = ''] = /^(.*?)\/+([^/?]+)\/*(\?.*)?$/.exec(storage.location) ?? []
    throw new KafkaBackupError(
      'LOCATION_INVALID',
      `${storage.location} is the folder of one backup, not a location of backups`,
      {
        help: `Give ${above}${query} as the location (--path or storage), and ${id} as the backup id.`,
      },
    )
  }
}
