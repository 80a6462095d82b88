import { LOG_VERSION } from './document.ts'

/** In the place of the first manifest that an older program does not have: it finds a version that it does not know. */
export const logMarker: Buffer = Buffer.from(`{"format":"kafka-backup","format_version":${LOG_VERSION}}\n`)

/** Of a marker as it is stored, which may be encrypted; most manifests of version 1 are larger. */
export const MAX_MARKER_BYTES = 1024

/** Whether the generations from this one on are commits of version 2. */
export function isLogMarker(bytes: Buffer): boolean {
  return bytes.equals(logMarker)
}
