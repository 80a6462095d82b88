import { isCompacted } from '../archive/effective-settings.ts'
import type { Manifest, ManifestTopic } from '../archive/manifest.ts'
import type { RegistrySnapshot } from '../archive/registry-model.ts'
import type { EncodedRecord } from '../batch/record-cursor.ts'
import type { KafkaRecord } from '../batch/records.ts'
import type { Storage } from '../storage/storage.ts'

/** Which records are restored, by what is in them. Its decisions depend on the backup and the schemas that a restore began with, so every run makes the same. */
export interface RecordFilter {
  /** What was asked for: the same filter has the same. */
  request: object
  /** It asks for more than keys: of the records of a key it may select one, and leave out the one that replaced it. */
  splitsKeys: boolean
  /** What the user should know of it beforehand. */
  warnings: readonly string[]
  /** Reads the schemas that it needs, for a restore that has begun those of that time; once for a generation. */
  open(storage: Storage, manifest: Manifest, began: string | undefined, signal: AbortSignal): Promise<OpenFilter>
}

export interface OpenFilter {
  /** Whether a record is restored. Throws RESTORE_REFUSED where it cannot tell and the job does not say what to do then. */
  selects(record: EncodedRecord, place: RecordPlace): boolean
  /** Whether a record may be restored, without a count or a failure: for a look at some records before the restore. */
  mayWant(record: KafkaRecord | EncodedRecord, topic: string): boolean
  /** What this process has decided so far, of each record once. */
  readonly counts: FilterCounts
  /** Of the schemas that it decodes with, where it needs any; see `RegistrySnapshot`. */
  readonly schemas?: Pick<RegistrySnapshot, 'addedAt' | 'notice'> | undefined
}

export interface RecordPlace {
  /** The topic at the source, and how messages name it. */
  topic: string
  label: string
  partition: number
}

export interface FilterCounts {
  examined: number
  selected: number
  /** Of these the filter could not tell, since a key or value could not be decoded; they were left out, or taken, as the job says. */
  notDecoded: number
}

/** Pure. A filter by fields, texts or headers may take a value and leave out the one that replaced it. */
export function warnOfFilter(
  topics: readonly { source: ManifestTopic; label: string }[],
  filter: RecordFilter | undefined,
): string[] {
  if (!filter) return []
  const split = filter.splitsKeys ? topics.filter(({ source }) => isCompacted(source)) : []
  return [
    ...filter.warnings,
    ...split.map(
      ({ label }) =>
        `topic ${label}: it is compacted, and restore.filter asks for headers, texts or fields: of a key it may restore an older value, ` +
        'and leave out the one that replaced or deleted it; a filter by keys alone restores all records of a key',
    ),
  ]
}
