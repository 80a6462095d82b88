import type { Manifest, ManifestPartition } from '../archive/manifest.ts'
import { warnOfAvoided } from '../archive/record-warnings.ts'
import { type GenerationChoice, openSelected } from '../archive/select-generation.ts'
import { KafkaBackupError, usageError } from '../errors.ts'
import { ExportFile, type ExportTarget, refuseExisting } from '../export/export-file.ts'
import { type FormatOptions, isLineFormat } from '../export/export-format.ts'
import { describeExport, type EarlierFile, type ExportReport, SUMMARY_NAME } from '../export/export-report.ts'
import { ExportTally } from '../export/export-tally.ts'
import { exportTopics } from '../export/export-topics.ts'
import { fileChooser, lineEncoder } from '../export/formats.ts'
import { findLeftOver, readEarlier } from '../export/left-over.ts'
import { exportSegments } from '../export/stored-segments.ts'
import { type CatQuery, catRecords, type OnRead, ReadProgress, type Tally, totalsOf } from '../inspect/cat.ts'
import type { ShownRecord } from '../inspect/print-format.ts'
import { selectPartitions } from '../inspect/select-partitions.ts'
import { formatUtc, systemClock } from '../lib/clock.ts'
import { formatJson } from '../lib/json.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { StorageOptions } from '../storage/location.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { version } from '../version.ts'

export interface ExportRequest extends GenerationChoice, FormatOptions {
  query: CatQuery
  /** Counts what is read. */
  tally: Tally
  /** Files at a location, or lines for a function that takes them. */
  to: { location: StorageOptions; overwrites: boolean } | { print: (lines: AsyncIterable<Buffer>) => Promise<void> }
  onProgress?: OnProgress
}

/** Exports records of a backup. The backup is only read, without a lease. */
export async function exportAt(
  storage: Storage,
  backupId: string,
  { generation, asOfMs, ...request }: ExportRequest,
  signal: AbortSignal,
): Promise<ExportReport> {
  const { onProgress = () => undefined } = request
  const manifest = await openSelected(storage, backupId, { generation, asOfMs }, signal)
  try {
    const report = await exportManifest(storage, manifest, { ...request, onProgress }, signal)
    for (const message of report.warnings) onProgress({ type: 'warning', message })
    return report
  } catch (error) {
    warnOfAvoided(manifest, onProgress)
    throw error
  }
}

async function exportManifest(
  storage: Storage,
  manifest: Manifest,
  { query, tally, to, onProgress, ...options }: ExportRequest & { onProgress: OnProgress },
  signal: AbortSignal,
): Promise<ExportReport> {
  const exported = new ExportTally()
  const onRead: OnRead = read => onProgress({ type: 'checked', ...read })
  // The other formats hold the stored bytes of headers.
  const shown = { ...query, showsHeaders: isLineFormat(options.format) }
  const records = catRecords(storage, manifest, shown, { tally, onRead }, signal)
  const describe = (location: string | null, left?: readonly EarlierFile[]) => {
    const facts = { format: options.format, location, exported_at: formatUtc(systemClock.now()), tool_version: version }
    return describeExport(manifest, { exported, searched: tally, left }, facts)
  }
  if ('print' in to) {
    await to.print(linesOf(records, options, exported))
    return describe(null)
  }
  return withTarget(storage, to, async target => {
    await refuseExisting(SUMMARY_NAME, target, signal)
    const earlier = target.overwrites ? await readEarlier(target.storage, signal) : []
    if (target.overwrites) await target.storage.remove(SUMMARY_NAME, signal)
    if (options.format === 'segments' && isWhole(query)) {
      await copySegments(manifest, query, { storage, target, exported, tally, onRead }, signal)
    } else {
      await exportTopics(records, fileChooser(options), target, exported, signal)
    }
    assertComplete(exported, tally)
    const own = { names: new Set(exported.files.map(({ name }) => name)), topics: new Set(tally.topics.keys()) }
    const report = describe(target.storage.location, await findLeftOver(earlier, own, target.storage, signal))
    await writeSummary(report, target, signal)
    return report
  })
}

/** Nothing is asked of the records, so their batches can stay as they are. */
function isWhole({
  key,
  keyPrefix,
  text,
  paths = [],
  headers,
  extent: { offsets, times },
  newest,
  limit,
}: CatQuery): boolean {
  const given = [key, keyPrefix, text, newest, limit, offsets.start, offsets.end, times.start, times.end]
  return given.every(one => one === undefined) && paths.length + headers.length === 0
}

async function copySegments(
  manifest: Manifest,
  query: CatQuery,
  {
    tally,
    onRead,
    ...parts
  }: { storage: Storage; target: ExportTarget; exported: ExportTally; tally: Tally; onRead: OnRead | undefined },
  signal: AbortSignal,
): Promise<void> {
  const progress = new ReadProgress(selectPartitions(manifest, query), onRead)
  parts.exported.isStored = true
  const watch = {
    onRead: (bytes: number) => {
      tally.bytes += bytes
      progress.read(bytes)
    },
    onRecords: (topic: string, records: number) => {
      const counts = tally.topics.get(topic) ?? { searched: 0, matched: 0 }
      tally.topics.set(topic, { searched: counts.searched + records, matched: counts.matched + records })
      parts.exported.addStored(topic, records)
    },
    onPartition: (partition: ManifestPartition) => progress.endPartition(partition),
  }
  await exportSegments(manifest, query, { ...parts, ...watch }, signal)
}

/** Whatever was found is in a file. */
function assertComplete({ files, totals }: ExportTally, tally: Tally): void {
  const written = files.reduce((sum, { records }) => sum + records, 0)
  const { matched } = totalsOf(tally)
  if (written === matched && totals.records === matched) return
  throw new KafkaBackupError('INTERNAL', `${matched} records were selected, and ${written} are in files`)
}

async function* linesOf(
  records: AsyncIterable<ShownRecord>,
  options: FormatOptions,
  exported: ExportTally,
): AsyncGenerator<Buffer> {
  const encoder = lineEncoder(options)
  yield encoder.start()
  for await (const shown of records) {
    exported.add(shown)
    yield encoder.add(shown)
  }
}

/** Files between backups would be taken for backups. */
async function withTarget<T>(
  backups: Storage,
  { location, overwrites }: { location: StorageOptions; overwrites: boolean },
  work: (target: ExportTarget) => Promise<T>,
): Promise<T> {
  const storage = openStorage(location)
  try {
    if (`${storage.location}/`.startsWith(`${backups.location.replace(/\/$/, '')}/`)) {
      throw usageError(`--out ${storage.location} is in the location of the backups; export to another folder`)
    }
    return await work({ storage, overwrites })
  } finally {
    await storage.close()
  }
}

async function writeSummary(report: ExportReport, target: ExportTarget, signal: AbortSignal): Promise<void> {
  const file = await ExportFile.open(SUMMARY_NAME, target, signal)
  await file.write(Buffer.from(`${formatJson(report, 2)}\n`), signal)
  await file.commit('', signal)
}
