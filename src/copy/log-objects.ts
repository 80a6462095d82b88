import { listSegments } from '../archive/indexes.ts'
import { objectOf } from '../archive/log/change.ts'
import type { Manifest, NamedObject } from '../archive/manifest.ts'
import { sectionObjectsOf } from '../archive/named-objects.ts'
import type { Storage } from '../storage/storage.ts'

/** Each object once: packs hold segments of many partitions. */
export async function logObjectsOf(source: Storage, manifest: Manifest, signal: AbortSignal): Promise<NamedObject[]> {
  const objects = new Map<string, NamedObject>()
  for (const topic of manifest.topics) {
    for (const { reread, ...partition } of topic.partitions) {
      const lists = [partition, ...(reread ? [reread] : [])]
      for (const list of lists) {
        for (const segment of await listSegments(source, topic, list, signal))
          objects.set(segment.key, objectOf(segment))
      }
    }
  }
  for (const object of sectionObjectsOf(manifest)) objects.set(object.key, object)
  return [...objects.values()]
}
