import { type BucketStorageParts, openBucketStorage } from '../bucket/bucket-storage.ts'
import { MultipartWriter } from '../bucket/writer.ts'
import { parsePrefix } from '../key.ts'
import type { Storage } from '../storage.ts'
import { formatS3Location, resolveS3Options, type S3Options, s3Defaults } from './s3-options.ts'

/** The first call loads the SDK and sends the first request. */
export function openS3Storage(given: S3Options, parts: BucketStorageParts): Storage {
  const prefix = parsePrefix(given.prefix ?? '')
  const options = { ...resolveS3Options(given), ...(prefix !== '' && { prefix }) }
  const { partSizeBytes, uploads } = { ...s3Defaults, ...options }
  const location = formatS3Location(options)
  const openApi = async () => (await import('./sdk.ts')).openS3Api(options, location)
  return openBucketStorage({ location, partSizeBytes, uploads, openApi, Writer: MultipartWriter }, parts)
}
