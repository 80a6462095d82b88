import { type BucketStorageParts, openBucketStorage } from '../bucket/bucket-storage.ts'
import { parsePrefix } from '../key.ts'
import type { Storage } from '../storage.ts'
import { openGcsApi } from './json-api.ts'
import { formatGcsLocation } from './location.ts'
import { type GcsOptions, gcsDefaults, resolveGcsOptions } from './options.ts'
import { GcsWriter } from './writer.ts'

/** The objects of a bucket. No request is sent before the first call, not even for credentials. */
export function openGcsStorage(given: GcsOptions, parts: BucketStorageParts): Storage {
  const prefix = parsePrefix(given.prefix ?? '')
  const options = { ...resolveGcsOptions(given), ...(prefix !== '' && { prefix }) }
  const { partSizeBytes, uploads } = { ...gcsDefaults, ...options }
  const location = formatGcsLocation(options)
  const openApi = () => openGcsApi(options, location, parts.clock)
  return openBucketStorage({ location, partSizeBytes, uploads, openApi, Writer: GcsWriter }, parts)
}
