import { avroChooser } from './avro.ts'
import { csvEncoder } from './csv.ts'
import type { FormatOptions } from './export-format.ts'
import type { ChooseFile } from './export-topics.ts'
import { jsonLines } from './json-lines.ts'
import { parquetEncoder } from './parquet.ts'
import type { RecordEncoder } from './record-encoder.ts'
import { segmentChooser } from './segment-encoder.ts'

export function lineEncoder({ format, keepsFormulas }: FormatOptions): RecordEncoder {
  return format === 'csv' ? csvEncoder({ keepsFormulas }) : jsonLines
}

/** One file a topic, or, where schemas decide, several. */
export function fileChooser(options: FormatOptions): ChooseFile {
  if (options.format === 'avro') return avroChooser()
  if (options.format === 'segments') return segmentChooser()
  if (options.format === 'parquet') return () => ({ suffix: '.parquet', open: parquetEncoder })
  return () => ({ suffix: `.${options.format}`, open: () => lineEncoder(options) })
}
