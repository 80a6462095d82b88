import { type GenerationChoice, openSelected } from '../archive/select-generation.ts'
import { usageError } from '../errors.ts'
import { ExportFile, type ExportTarget, refuseExisting } from '../export/export-file.ts'
import type { FormatOptions } from '../export/export-format.ts'
import { describeExport, type ExportReport, SUMMARY_NAME } from '../export/export-report.ts'
import { ExportTally } from '../export/export-tally.ts'
import { exportTopics } from '../export/export-topics.ts'
import { fileChooser, lineEncoder } from '../export/formats.ts'
import { type CatQuery, catRecords, type OnRead, type Tally } from '../inspect/cat.ts'
import type { ShownRecord } from '../inspect/print-format.ts'
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
  { query, tally, to, onProgress, generation, asOfMs, ...options }: ExportRequest,
  signal: AbortSignal,
): Promise<ExportReport> {
  const manifest = await openSelected(storage, backupId, { generation, asOfMs }, signal)
  const exported = new ExportTally()
  const onRead = onProgress && ((read: Parameters<OnRead>[0]) => onProgress({ type: 'checked', ...read }))
  const records = catRecords(storage, manifest, query, { tally, onRead }, signal)
  const describe = (location: string | null) => {
    const facts = { format: options.format, location, exported_at: formatUtc(systemClock.now()), tool_version: version }
    return describeExport(manifest, { exported, searched: tally }, facts)
  }
  if ('print' in to) {
    await to.print(linesOf(records, options, exported))
    return describe(null)
  }
  return withTarget(storage, to, async target => {
    await refuseExisting(SUMMARY_NAME, target, signal)
    if (target.overwrites) await target.storage.remove(SUMMARY_NAME, signal)
    await exportTopics(records, fileChooser(options), target, exported, signal)
    const report = describe(target.storage.location)
    await writeSummary(report, target, signal)
    return report
  })
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
