import type { Manifest } from '../archive/manifest.ts'
import { formatJson } from '../lib/json.ts'

/** What a run changed in a backup besides copying records. */
export interface BackupChanges {
  /** Topics, their partitions or settings. */
  topics: boolean
  schemas: boolean
  consumerGroups: boolean
  access: boolean
}

/** Pure. When something was read is no change, and neither is how far a log goes. */
export function changesSince(previous: Manifest | undefined, manifest: Manifest): BackupChanges {
  const differs = (pick: (one: Manifest) => unknown) =>
    formatJson({ of: previous && pick(previous) }) !== formatJson({ of: pick(manifest) })
  return {
    topics: differs(({ topics }) => topics.map(({ partitions, ...topic }) => ({ ...topic, count: partitions.length }))),
    schemas: differs(one => one.schema_registry && { ...one.schema_registry, backup_timestamp: '' }),
    consumerGroups: differs(one => one.consumer_groups && { ...one.consumer_groups, taken_at: '' }),
    access: differs(one => one.access && { ...one.access, taken_at: '' }),
  }
}
