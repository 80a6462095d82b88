/** As Cloud Storage writes CRC32C: big-endian, in base64. */
export function formatSum(sum: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(sum)
  return bytes.toString('base64')
}

/** The CRC32C of a header `x-goog-hash: crc32c=…,md5=…`, where it has one. */
export function parseHashHeader(header: string | string[] | undefined): string | undefined {
  return /\bcrc32c=([^,\s]+)/.exec(String(header ?? ''))?.[1]
}
