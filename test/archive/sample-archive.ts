import { commitGeneration } from '../../src/archive/commit.ts'
import type {
  AbortedTransaction,
  Manifest,
  ManifestPartition,
  ManifestTopic,
  PartitionIndex,
  Segment,
} from '../../src/archive/manifest.ts'
import { parsePartitionIndex } from '../../src/archive/manifest.ts'
import { renewManifestCopy } from '../../src/archive/newest-copies.ts'
import { type ChunkFacts, SegmentWriter } from '../../src/archive/segment-writer.ts'
import { emptyPartition, withSegment } from '../../src/archive/summary.ts'
import { isControl } from '../../src/batch/header.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import type { Storage } from '../../src/storage/storage.ts'

export const never = new AbortController().signal

export type DraftManifest = Omit<Manifest, 'format' | 'format_version'>

export function draftManifest(topics: ManifestTopic[], changes: Partial<DraftManifest> = {}): DraftManifest {
  return {
    tool_version: '0.0.0',
    backup_id: 'b1',
    generation: 1,
    run: 'run1',
    complete: true,
    created_at: '2026-01-02T03:04:05.000Z',
    started_at: '2026-01-02T03:04:00.000Z',
    cluster: { id: 'c1', brokers: 1 },
    selection: { include: ['*'], exclude: [] },
    topics,
    warnings: [],
    ...changes,
  }
}

export function topicOf(
  name: string,
  partitions: ManifestPartition[],
  changes: Partial<ManifestTopic> = {},
): ManifestTopic {
  return {
    name,
    id: `id-${name}`,
    state: 'current',
    internal: false,
    replication_factor: 1,
    configs: {},
    partitions,
    ...changes,
  }
}

/** What the batches hold: plain data and markers. */
export function factsOf(batches: Buffer[]): ChunkFacts {
  const bytes = Buffer.concat(batches)
  const headers = walkBatches(bytes, 0, bytes.length)
  const data = headers.filter(({ attributes }) => !isControl(attributes))
  const times = data.flatMap(header => [header.baseTimestamp, header.maxTimestamp]).sort((a, b) => (a < b ? -1 : 1))
  return {
    startOffset: headers[0]?.baseOffset ?? 0n,
    endOffset: (headers.at(-1)?.lastOffset ?? -1n) + 1n,
    batches: headers.length,
    records: data.reduce((sum, header) => sum + header.recordCount, 0),
    abortedRecords: 0,
    firstTimestamp: times[0] ?? null,
    lastTimestamp: times.at(-1) ?? null,
    aborted: [],
  }
}

/** A segment of these batches; each batch is a piece, and so a frame, of its own. */
export async function storeSegment(
  storage: Storage,
  key: string,
  batches: Buffer[],
  compressed: boolean,
): Promise<Segment> {
  const writer = await SegmentWriter.open(storage, key, compressed, never)
  await writer.append(batches, factsOf(batches), never)
  return writer.finish(never)
}

/** A whole backup `b1` with one topic `orders` of one partition, a segment for each list of batches. */
export function storeBackup(storage: Storage, lists: Buffer[][], compressed = false): Promise<Manifest> {
  return storePartitions(storage, [lists], compressed)
}

/** The same with several partitions; the last segment of each has noted what was rolled back. */
export async function storePartitions(
  storage: Storage,
  all: Buffer[][][],
  compressed: boolean,
  aborted: AbortedTransaction[] = [],
  id = 'id-orders',
): Promise<Manifest> {
  const freshSegments = new Map<string, Segment[]>()
  const partitions: ManifestPartition[] = []
  for (const [number, lists] of all.entries()) {
    const segments: Segment[] = []
    let partition = emptyPartition(number, 0n)
    for (const [i, batches] of lists.entries()) {
      const stored = await storeSegment(storage, `b1/kafka/orders/${number}/${i}.log`, batches, compressed)
      const segment = i === lists.length - 1 && aborted.length > 0 ? { ...stored, aborted } : stored
      segments.push(segment)
      partition = withSegment(partition, segment, 0, [])
    }
    freshSegments.set(`${id}/${number}`, segments)
    partitions.push(partition)
  }
  const manifest = draftManifest([topicOf('orders', partitions, { id })])
  const { manifest: committed } = await commitGeneration(storage, { manifest, freshSegments, attempt: 1 }, never)
  await renewManifestCopy(storage, committed, never)
  return committed
}

/** What is in an index, whatever it belongs to. */
export async function indexAt(storage: Storage, { key }: { key: string }): Promise<PartitionIndex> {
  return parsePartitionIndex((await storage.read(key, never)).toString('utf8'), key)
}
