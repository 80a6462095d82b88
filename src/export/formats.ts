import { csvEncoder } from './csv.ts'
import type { ChooseFile } from './export-topics.ts'
import { jsonLines } from './json-lines.ts'
import type { RecordEncoder } from './record-encoder.ts'

export const exportFormats = ['jsonl', 'csv'] as const
export type ExportFormat = (typeof exportFormats)[number]

export interface FormatOptions {
  format: ExportFormat
  /** CSV: leaves texts as they are that a spreadsheet takes for a formula. */
  keepsFormulas: boolean
}

/** Formats of lines, which standard output can take. */
const lineFormats: readonly ExportFormat[] = ['jsonl', 'csv']

export function isLineFormat(format: ExportFormat): boolean {
  return lineFormats.includes(format)
}

export function lineEncoder({ format, keepsFormulas }: FormatOptions): RecordEncoder {
  return format === 'csv' ? csvEncoder({ keepsFormulas }) : jsonLines
}

/** One file a topic, or, where schemas decide, several. */
export function fileChooser(options: FormatOptions): ChooseFile {
  return () => ({ suffix: `.${options.format}`, open: () => lineEncoder(options) })
}
