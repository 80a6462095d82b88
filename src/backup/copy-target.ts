import { freshKey, type Incarnation, rereadKey } from '../archive/incarnation.ts'
import { type FolderOf, type PartitionPlace, segmentKey } from '../archive/layout.ts'
import type { PackSet } from '../archive/log/pack-set.ts'
import { type BatchWriter, SegmentWriter } from '../archive/segment-writer.ts'
import type { Storage } from '../storage/storage.ts'
import type { BackupOptions } from './backup-options.ts'
import type { Chunk } from './chunk.ts'

/** What the copies of a run share. */
export interface CopyParts {
  storage: Storage
  run: string
  /** Stops the store's work. Not the signal of the copying: a segment that is whole is made durable after a Ctrl-C, too. */
  storeSignal: AbortSignal
  options: Pick<BackupOptions, 'compression' | 'segmentBytes'>
  folderOf?: FolderOf | undefined
  /** Where small appends go; without it each is a segment. */
  packs?: Pick<PackSet, 'open' | 'addNow'> | undefined
  now: () => number
}

/** Where the records of a partition go. */
interface CopyTarget extends Omit<PartitionPlace, 'folderOf'> {
  list: string
}

/** The list of a partition that is copied, or read again. */
export function listOf(copy: { isReread: boolean; identity: Incarnation; partition: number }): string {
  return (copy.isReread ? rereadKey : freshKey)(copy.identity, copy.partition)
}

/** What was in a chunk. */
export interface Stored {
  records: number
  bytes: number
}

/** Opens what takes a chunk, and those that follow it. */
export function openWriter(parts: CopyParts, target: CopyTarget, chunk: Chunk): BatchWriter | Promise<BatchWriter> {
  const { storage, run, storeSignal, packs, folderOf } = parts
  const compressed = isCompressed(parts, chunk)
  const from = chunk.headers[0]?.baseOffset ?? chunk.startOffset
  const openSegment = () =>
    SegmentWriter.open(storage, segmentKey({ ...target, folderOf }, from, run, compressed), compressed, storeSignal)
  return packs?.open(target.list, compressed, openSegment) ?? openSegment()
}

export function isCompressed({ options: { compression } }: CopyParts, { mostlyPlain }: Chunk): boolean {
  return compression === 'zstd' || (compression === 'auto' && mostlyPlain)
}
