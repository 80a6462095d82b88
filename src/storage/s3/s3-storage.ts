import { type BucketStorageParts, openBucketStorage } from '../bucket/bucket-storage.ts'
import { MultipartWriter } from '../bucket/multipart-writer.ts'
import { parsePrefix } from '../key.ts'
import type { Storage } from '../storage.ts'
import { formatS3Location } from './location.ts'
import { resolveS3Options, type S3Options, s3Defaults } from './options.ts'

export type S3StorageParts = BucketStorageParts

/** Objects of a bucket. The SDK is loaded and the bucket is asked by the first call. */
export function openS3Storage(given: S3Options, parts: S3StorageParts): Storage {
  const prefix = parsePrefix(given.prefix ?? '')
  const options = { ...resolveS3Options(given), ...(prefix !== '' && { prefix }) }
  const { partSizeBytes, uploads } = { ...s3Defaults, ...options }
  const location = formatS3Location(options)
  const openApi = async () => (await import('./sdk.ts')).openS3Api(options, location)
  return openBucketStorage({ location, partSizeBytes, uploads, openApi, Writer: MultipartWriter }, parts)
}
