import { type BucketStorageParts, openBucketStorage } from '../bucket/bucket-storage.ts'
import { MultipartWriter } from '../bucket/multipart-writer.ts'
import { parsePrefix } from '../key.ts'
import type { Storage } from '../storage.ts'
import { formatAzureLocation } from './location.ts'
import { type AzureOptions, azureDefaults, resolveAzureOptions } from './options.ts'

/** Objects of a container. The SDK is loaded and the account is asked by the first call. */
export function openAzureStorage(given: AzureOptions, parts: BucketStorageParts): Storage {
  const prefix = parsePrefix(given.prefix ?? '')
  const options = { ...resolveAzureOptions(given), ...(prefix !== '' && { prefix }) }
  const { partSizeBytes, uploads } = { ...azureDefaults, ...options }
  const location = formatAzureLocation(options)
  const openApi = async () => (await import('./sdk.ts')).openAzureApi(options, location)
  return openBucketStorage({ location, partSizeBytes, uploads, openApi, Writer: MultipartWriter }, parts)
}
