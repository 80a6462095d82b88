import { KafkaBackupError } from '../errors.ts'
import { findKeyFault } from '../lib/object-key.ts'

/** Rejects a key that some backend cannot hold, could confuse with another key, or that leads outside the location. */
export function assertKey(key: string): void {
  const fault = findKeyFault(key)
  if (fault !== undefined) {
    throw new KafkaBackupError('LOCATION_INVALID', `the object key ${JSON.stringify(key)} is invalid: ${fault}`, {
      help: 'Use printable characters, and no `.`, `..` or empty parts between slashes.',
    })
  }
}

/** The folder that a prefix names, without its trailing slash; '' is the root. */
export function parsePrefix(prefix: string): string {
  if (prefix === '') return ''
  const folder = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix
  assertKey(folder)
  return folder
}
