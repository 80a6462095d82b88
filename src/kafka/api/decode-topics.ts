import type { Reader } from '../wire/reader.ts'

/** `[name [partition TAGS] TAGS]` */
export function decodeTopics<T>(reader: Reader, decodePartition: () => T): { name: string; partitions: T[] }[] {
  return reader.array(() => {
    const name = reader.string()
    const partitions = reader.array(() => {
      const partition = decodePartition()
      reader.tags()
      return partition
    })
    reader.tags()
    return { name, partitions }
  })
}
