import { type BucketStorageParts, openBucketStorage } from '../bucket/bucket-storage.ts'
import { MultipartWriter } from '../bucket/writer.ts'
import { parsePrefix } from '../key.ts'
import type { Storage } from '../storage.ts'
import { type AzureOptions, azureDefaults, formatAzureLocation, resolveAzureOptions } from './azure-options.ts'

/** The first call loads the SDK and sends the first request. */
export function openAzureStorage(given: AzureOptions, parts: BucketStorageParts): Storage {
  const prefix = parsePrefix(given.prefix ?? '')
  const options = { ...resolveAzureOptions(given), ...(prefix !== '' && { prefix }) }
  const { partSizeBytes, uploads } = { ...azureDefaults, ...options }
  const location = formatAzureLocation(options)
  const openApi = async () => (await import('./sdk.ts')).openAzureApi(options, location)
  return openBucketStorage({ location, partSizeBytes, uploads, openApi, Writer: MultipartWriter }, parts)
}
