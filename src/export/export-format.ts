/** Without the code that writes them: the command line names them at every start. */
export const exportFormats = ['jsonl', 'csv', 'avro', 'parquet', 'segments'] as const
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
