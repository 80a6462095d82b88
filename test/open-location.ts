import { openStoragePlace } from '../src/jobs/parts.ts'
import { parseLocation } from '../src/storage/location.ts'
import type { Storage } from '../src/storage/storage.ts'

/** The storage at a path or a URL, without keys. */
export function openLocation(path: string): Storage {
  return openStoragePlace({ storage: parseLocation(path) })
}
