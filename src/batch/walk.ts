import { KafkaBackupError } from '../errors.ts'
import { type BatchHeader, batchSizeAt, HEADER_BYTES, magicAt, readHeader } from './header.ts'

/**
 * The headers of all whole batches in buffer[start, end). A fetch may end inside a batch; that rest is left out, since the
 * next fetch brings it again. Bytes that cannot be a batch are refused: a bad length would let the walk run astray.
 */
export function walkBatches(buffer: Buffer, start: number, end: number): BatchHeader[] {
  const headers: BatchHeader[] = []
  let position = start
  for (;;) {
    const sizeBytes = wholeSizeAt(buffer, position, end)
    if (sizeBytes === undefined) return headers
    headers.push(readHeader(buffer, position))
    position += sizeBytes
  }
}

/** Bytes of the batch at this position, header included; undefined if it is not there as a whole. */
export function wholeSizeAt(buffer: Buffer, position: number, end: number): number | undefined {
  const sizeBytes = batchSizeAt(buffer, position, end)
  if (sizeBytes === undefined) return undefined
  const magic = magicAt(buffer, position)
  if (magic !== 2) throw wrongMagic(magic, buffer.readBigInt64BE(position))
  if (sizeBytes < HEADER_BYTES) {
    throw new KafkaBackupError('BATCH_INVALID', `a record batch claims a length of ${sizeBytes} bytes`)
  }
  return position + sizeBytes > end ? undefined : sizeBytes
}

function wrongMagic(magic: number, baseOffset: bigint): KafkaBackupError {
  return magic === 0 || magic === 1
    ? new KafkaBackupError('BATCH_OLD_FORMAT', `the batch at offset ${baseOffset} has the old message format v${magic}`)
    : new KafkaBackupError('BATCH_INVALID', `a record batch has the unknown format ${magic}`)
}
