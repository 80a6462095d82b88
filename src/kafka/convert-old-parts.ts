import { convertOldMessages } from '../batch/convert-old-messages.ts'
import type { OldFormat } from '../batch/old-messages.ts'
import { KafkaBackupError } from '../errors.ts'

/** A part of an answer. `converted` is absent where all of it was in format v2. */
export type ConvertedPart<Part> = Part & { converted?: OldRecords }

/** Records that the broker holds in an old message format. */
export interface OldRecords {
  formats: readonly OldFormat[]
  /** One behind the last of them. */
  endOffset: bigint
}

/**
 * Pure. The answer with all records in batches of format v2: brokers send what they hold in the old message formats as it
 * is. Where there is nothing of the kind, which is usual, the answer is returned as it is; otherwise it is in memory of
 * its own.
 */
export function convertOldParts<Part extends { start: number; end: number }>(
  bytes: Buffer,
  parts: readonly Part[],
  nameOf: (part: Part) => string,
): { bytes: Buffer; partitions: ConvertedPart<Part>[] } {
  const converted = parts.map(part => convertPart(bytes, part, nameOf))
  if (converted.every(one => one === undefined)) return { bytes, partitions: [...parts] }
  const pieces = parts.map((part, at) => converted[at]?.bytes ?? bytes.subarray(part.start, part.end))
  let position = 0
  const partitions = parts.map((part, at) => {
    const start = position
    position += pieces[at]?.length ?? 0
    const { formats, endOffset } = converted[at] ?? { formats: [], endOffset: 0n }
    return { ...part, start, end: position, ...(formats.length > 0 && { converted: { formats, endOffset } }) }
  })
  return { bytes: Buffer.concat(pieces), partitions }
}

function convertPart<Part extends { start: number; end: number }>(
  bytes: Buffer,
  part: Part,
  nameOf: (part: Part) => string,
): ReturnType<typeof convertOldMessages> {
  try {
    return convertOldMessages(bytes, part.start, part.end)
  } catch (cause) {
    if (!(cause instanceof KafkaBackupError)) throw cause
    // Invalid bytes may be caused by the network, like a wrong checksum.
    throw new KafkaBackupError('SOURCE_CORRUPT', `${nameOf(part)}: ${cause.message}`, { cause })
  }
}
