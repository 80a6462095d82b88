import { listSegments } from '../archive/indexes.ts'
import type { Manifest, ManifestPartition, ManifestTopic, Segment } from '../archive/manifest.ts'
import { readSegment } from '../archive/segment-reader.ts'
import { cutBefore } from '../batch/cut-batch.ts'
import { type BatchHeader, isControl } from '../batch/header.ts'
import { selectPartitions, type TopicChoice } from '../inspect/select-partitions.ts'
import { walkSegment } from '../restore/check-batches.ts'
import type { Storage } from '../storage/storage.ts'
import { ExportFile, type ExportTarget } from './export-file.ts'
import type { ExportTally } from './export-tally.ts'
import { FileNames } from './export-topics.ts'
import { MAX_DISTANCE, segmentName } from './segment-encoder.ts'

interface SegmentsParts {
  storage: Storage
  target: ExportTarget
  exported: ExportTally
  /** Called with how many bytes of batches were read. */
  onRead: (bytes: number) => void
  /** Called with how many records of a topic were copied, first of all with none. */
  onRecords: (topic: string, records: number) => void
  onPartition: (partition: ManifestPartition) => void
}

/**
 * All batches of partitions byte for byte, with aborted transactions and markers, each compared with its checksum: one file for each segment of the
 * backup. Only a batch that DeleteRecords cut is written again, without the records before the log start.
 */
export async function exportSegments(
  manifest: Manifest,
  choice: TopicChoice,
  parts: SegmentsParts,
  signal: AbortSignal,
): Promise<void> {
  const names = new FileNames()
  for (const { topic, partition, label } of selectPartitions(manifest, choice)) {
    parts.onRecords(label, 0)
    await exportPartition({ topic, partition, label, name: names.ofTopic(label) }, parts, signal)
    parts.onPartition(partition)
  }
}

interface NamedPartition {
  topic: ManifestTopic
  partition: ManifestPartition
  label: string
  /** What the names of its files begin with. */
  name: string
}

async function exportPartition(
  { topic, partition, label, name }: NamedPartition,
  parts: SegmentsParts,
  signal: AbortSignal,
): Promise<void> {
  for (const segment of await listSegments(parts.storage, topic, partition, signal)) {
    const files = new SegmentFiles({ label, name, partition: partition.partition }, parts)
    try {
      let next = 0n
      for await (const bytes of readSegment(parts.storage, segment, signal)) {
        const headers = walkSegment(bytes, segment, next)
        next = (headers.at(-1)?.lastOffset ?? next - 1n) + 1n
        for (const header of headers) await files.add(batchOf(bytes, header, segment), header, signal)
        parts.onRead(bytes.length)
      }
      await files.close(signal)
    } catch (error) {
      await files.abort()
      throw error
    }
  }
}

interface StoredBatch {
  bytes: Buffer
  records: number
}

function batchOf(bytes: Buffer, header: BatchHeader, { start_offset: start }: Segment): StoredBatch {
  if (header.baseOffset < start && !isControl(header.attributes)) return cutBefore({ bytes, header }, start)
  const { position, sizeBytes, recordCount, attributes } = header
  const stored = bytes.subarray(position, position + sizeBytes)
  return { bytes: stored, records: isControl(attributes) ? 0 : recordCount }
}

/** The files of one segment: mostly one. Offsets that are far apart need more. */
class SegmentFiles {
  readonly #label: string
  readonly #place: { name: string; partition: number }
  readonly #parts: SegmentsParts
  #open: { file: ExportFile; base: bigint } | undefined

  constructor({ label, ...place }: { label: string; name: string; partition: number }, parts: SegmentsParts) {
    this.#label = label
    this.#place = place
    this.#parts = parts
  }

  async add(
    { bytes, records }: StoredBatch,
    { baseOffset, lastOffset }: BatchHeader,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#open && lastOffset - this.#open.base > MAX_DISTANCE) await this.close(signal)
    this.#open ??= { file: await this.#openFile(baseOffset, signal), base: baseOffset }
    this.#open.file.records += records
    this.#parts.onRecords(this.#label, records)
    // A copy: the piece is read into again.
    await this.#open.file.write(Buffer.from(bytes), signal)
  }

  async close(signal: AbortSignal): Promise<void> {
    if (!this.#open) return
    this.#parts.exported.files.push(await this.#open.file.commit(this.#label, signal))
    this.#open = undefined
  }

  async abort(): Promise<void> {
    await this.#open?.file.abort()
  }

  #openFile(base: bigint, signal: AbortSignal): Promise<ExportFile> {
    const { name, partition } = this.#place
    return ExportFile.open(`${name}${segmentName(partition, base)}`, this.#parts.target, signal)
  }
}
