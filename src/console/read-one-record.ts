import type { ManifestPartition } from '../archive/manifest.ts'
import type { Extent, FoundRecord } from '../inspect/found-record.ts'
import type { BatchWatch } from '../inspect/open-piece.ts'
import { openPartition, readForward } from '../inspect/read-records.ts'
import { SchemaDecoder } from '../inspect/schema-decoder.ts'
import { StoredSchemas } from '../inspect/stored-schemas.ts'
import type { OpenedBackup } from './archive-reader.ts'
import type { FoundTopic } from './find-topic.ts'
import { type RecordView, viewRecord } from './record-view.ts'
import { recordLimits } from './show-part.ts'

/** One record with its bytes; undefined where the backup has none at the offset. */
export async function readOneRecord(
  { location: { storage }, manifest }: OpenedBackup,
  found: FoundTopic,
  { partition, offset, context }: { partition: ManifestPartition; offset: bigint; context?: string | undefined },
  signal: AbortSignal,
): Promise<{ record: FoundRecord; view: RecordView; contexts: readonly string[] } | undefined> {
  const extent: Extent = { offsets: { start: offset, end: offset + 1n }, times: {}, withAborted: true }
  const watch: BatchWatch = {
    mayMatch: () => true,
    judge: () => true,
    trustsGaps: true,
    ahead: undefined,
    onSearched: () => undefined,
    onRead: () => undefined,
  }
  const source = await openPartition(storage, found.topic, partition, extent, watch, signal)
  const schemas = new StoredSchemas(storage, manifest)
  schemas.refuseUnknown(context)
  const decoder = new SchemaDecoder(schemas, context)
  for await (const record of readForward(storage, source, extent, signal)) {
    return { record, view: await viewRecord(record, decoder, recordLimits, signal), contexts: schemas.namedContexts }
  }
  return undefined
}
