import type { Manifest } from '../archive/manifest.ts'
import { avoidedWarnings } from '../archive/record-warnings.ts'
import { type Tally, totalsOf } from '../inspect/cat.ts'
import type { ExportedFile } from './export-file.ts'
import type { ExportFormat } from './export-format.ts'
import { type ExportTally, missingParts } from './export-tally.ts'

/** The summary next to the files: it is written last, so a folder without it holds an unfinished export. */
export const SUMMARY_NAME = 'export.json'

/** What was exported, as the summary holds it and `--format json` prints it. */
export interface ExportReport {
  backup_id: string
  generation: number
  generation_created_at: string
  format: ExportFormat
  /** Null where it went to standard output. */
  location: string | null
  exported_at: string
  tool_version: string
  records: number
  /** Records that were compared with the conditions. */
  searched: number
  /** This and the next two are null where batches were copied as they are stored. */
  tombstones: number | null
  keys_not_decoded: number | null
  values_not_decoded: number | null
  /** Keys and values that name a schema that does not decode them: conditions were compared with their bytes. */
  searched_as_stored: number
  stopped_at_limit: boolean
  /** Why keys and values were not decoded; at most 20 reasons. */
  reasons: { reason: string; count: number }[]
  warnings: string[]
  topics: object[]
  files: ExportedFile[]
  /** Files of an earlier export of the same topics that were not replaced; absent where there are none. */
  left_over?: EarlierFile[]
}

/** A file that an earlier export has written, as its summary lists it. */
export interface EarlierFile {
  name: string
  topic: string
}

/** Pure. */
export function describeExport(
  manifest: Manifest,
  {
    exported,
    searched,
    left = [],
  }: { exported: ExportTally; searched: Tally; left?: readonly EarlierFile[] | undefined },
  facts: Pick<ExportReport, 'format' | 'location' | 'exported_at' | 'tool_version'>,
): ExportReport {
  const { records, tombstones, keysNotDecoded, valuesNotDecoded } = exported.totals
  const names = new Set([...searched.topics.keys()].map(label => label.replace(/@.*/s, '')))
  return {
    ...{ backup_id: manifest.backup_id, generation: manifest.generation, generation_created_at: manifest.created_at },
    ...facts,
    ...{ records, searched: totalsOf(searched).searched },
    ...known(exported, { tombstones, keys_not_decoded: keysNotDecoded, values_not_decoded: valuesNotDecoded }),
    searched_as_stored: searched.keysNotDecoded + searched.notDecoded,
    stopped_at_limit: searched.isCut,
    reasons: [...exported.reasons].map(([reason, count]) => ({ reason, count })),
    warnings: [...avoidedWarnings(manifest), ...missingParts(manifest, names), ...warnOfLeftOver(left)],
    topics: [...searched.topics].map(([topic, counts]) => topicDocument(topic, counts, exported)),
    files: exported.files,
    ...(left.length > 0 && { left_over: [...left] }),
  }
}

const NAMED_FILES = 5

function warnOfLeftOver(left: readonly EarlierFile[]): string[] {
  if (left.length === 0) return []
  const named = left.slice(0, NAMED_FILES).map(({ name }) => name)
  const list = `${named.join(', ')}${left.length > NAMED_FILES ? ` and ${left.length - NAMED_FILES} more` : ''}`
  return [
    `files of an earlier export of the same topics were not replaced and are not part of this one: ${list}; remove them`,
  ]
}

function topicDocument(topic: string, { searched }: { searched: number }, exported: ExportTally): object {
  const { records = 0, tombstones = 0, keysNotDecoded = 0, valuesNotDecoded = 0 } = exported.topics.get(topic) ?? {}
  const counts = { tombstones, keys_not_decoded: keysNotDecoded, values_not_decoded: valuesNotDecoded }
  return { topic, records, searched, ...known(exported, counts) }
}

type Counts = Pick<ExportReport, 'tombstones' | 'keys_not_decoded' | 'values_not_decoded'>

function known({ isStored }: ExportTally, counts: Counts): Counts {
  return isStored ? { tombstones: null, keys_not_decoded: null, values_not_decoded: null } : counts
}
