import { formatJson, parseJson } from '../lib/json.ts'

/** How a side encrypts is its own affair, and the checksum covers that. */
const ownOfSide = new Set(['encryption', 'checksum'])

/**
 * Pure. The manifests of one generation on two sides say the same. Byte for byte where nothing was changed on the way;
 * where the encryption was, all fields besides that.
 */
export function isSameGeneration(one: Buffer, other: Buffer): boolean {
  if (one.equals(other)) return true
  const [ours, theirs] = [contentOf(one), contentOf(other)]
  return ours !== undefined && ours === theirs
}

function contentOf(bytes: Buffer): string | undefined {
  try {
    const document = parseJson(bytes.toString('utf8'))
    if (typeof document !== 'object' || document === null) return undefined
    return formatJson(Object.fromEntries(Object.entries(document).filter(([field]) => !ownOfSide.has(field))))
  } catch {
    return undefined
  }
}
