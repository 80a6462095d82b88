import type { Readable } from 'node:stream'
import type { BlockBlobClient } from '@azure/storage-blob'
import { hasCode } from '../../errors.ts'
import {
  type ByteRange,
  type ListPageOptions,
  type MultipartApi,
  modifiedMsOf,
  type ObjectHead,
  type ObjectPage,
  type PartNumber,
  type PutCondition,
  type ReceivedBytes,
  sendUntilAborted,
  statedSize,
  type UploadedPart,
} from '../bucket/api.ts'
import { readBody } from '../bucket/read-body.ts'
import { refuseLargeRead } from '../object-limits.ts'
import type { AzureOptions } from './azure-options.ts'
import { type OpenedContainer, openContainer, unstatedLength } from './client.ts'
import { errorNameOf, mapAzureError } from './error.ts'

/** Metadata of an object that a writer created. Names must be identifiers, so it has no dashes. */
const tokenName = 'kafkabackupwriter'

const contentType = { blobContentType: 'application/octet-stream' }
const ifNone = { ifNoneMatch: '*' }

/** The only file that sends requests to Azure. It is loaded together with the SDK when a container is first used. */
export async function openAzureApi(options: AzureOptions, location: string): Promise<MultipartApi> {
  return new SdkApi(await openContainer(options), options, location)
}

class SdkApi implements MultipartApi {
  readonly #container: OpenedContainer
  readonly #folder: string
  readonly #context: { container: string; location: string; sasToken: string | undefined }

  constructor(container: OpenedContainer, options: AzureOptions, location: string) {
    this.#container = container
    this.#folder = options.prefix ? `${options.prefix}/` : ''
    this.#context = { container: options.container, location, sasToken: options.sasToken }
  }

  async put(key: string, body: Buffer, { ifAbsent, token }: PutCondition, signal: AbortSignal): Promise<void> {
    await this.#attempt(ifAbsent ? 'create' : 'replace', key, signal, abort =>
      this.#blob(key).upload(body, body.length, {
        ...abort,
        blobHTTPHeaders: contentType,
        ...(ifAbsent && { conditions: ifNone }),
        ...(token !== undefined && { metadata: { [tokenName]: token } }),
      }),
    )
  }

  async head(key: string, signal: AbortSignal): Promise<ObjectHead | undefined> {
    try {
      const found = await this.#attempt('stat', key, signal, abort => this.#blob(key).getProperties(abort))
      return {
        size: statedSize(found.contentLength, key, this.#context.location),
        modifiedMs: modifiedMsOf(found.lastModified),
        token: found.metadata?.[tokenName],
        protectedUntilMs: found.immutabilityPolicyExpiresOn?.getTime(),
      }
    } catch (error) {
      // A missing object is a result; a missing container is an error.
      const isMissing = hasCode(error, 'STORAGE_NOT_FOUND') && errorNameOf(error.cause) !== 'ContainerNotFound'
      if (isMissing) return undefined
      throw error
    }
  }

  async get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<ReceivedBytes> {
    const { start = 0, length } = range ?? {}
    return this.#attempt('read', key, signal, async abort => {
      const answer = await this.#blob(key).download(start, length, { ...abort, maxRetryRequests: 0 })
      const assertFits = (bytes: number) => range ?? refuseLargeRead(key, bytes, this.#context.location)
      const { contentLength, contentRange } = answer
      const response = { body: answer.readableStreamBody as Readable, contentLength, contentRange }
      const { bytes } = await readBody(response, range, assertFits)
      return { bytes, isMeasured: !answer._response.headers.contains(unstatedLength) }
    })
  }

  async listPage(folder: string, options: ListPageOptions, signal: AbortSignal): Promise<ObjectPage> {
    const prefix = this.#folder + (folder === '' ? '' : `${folder}/`)
    return this.#attempt('list', folder, signal, async abort => {
      const { foldersOnly, from, limit } = options
      const [which, paging] = [
        { ...abort, ...(prefix !== '' && { prefix }) },
        { ...(from !== undefined && { continuationToken: from }), ...(limit !== undefined && { maxPageSize: limit }) },
      ]
      const { client } = this.#container
      const pages = foldersOnly
        ? client.listBlobsByHierarchy('/', which).byPage(paging)
        : client.listBlobsFlat(which).byPage(paging)
      const { value: page } = await pages.next()
      return this.#pageOf(page, prefix)
    })
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    await this.#attempt('remove', key, signal, abort => this.#blob(key).delete(abort))
  }

  /** Blocks need no request to begin: the token identifies the upload and its blocks, and is committed with them. */
  async beginUpload(_key: string, token: string): Promise<string> {
    return token
  }

  async putPart(
    key: string,
    { uploadId, number }: PartNumber,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<UploadedPart> {
    // All ids of an object must have the same length.
    const etag = Buffer.from(`${uploadId}-${String(number).padStart(6, '0')}`).toString('base64')
    await this.#attempt('write', key, signal, abort => this.#blob(key).stageBlock(etag, body, body.length, abort))
    return { number, etag, checksum: {} }
  }

  async completeUpload(key: string, token: string, parts: readonly UploadedPart[], signal: AbortSignal): Promise<void> {
    const blocks = parts.toSorted((a, b) => a.number - b.number).map(({ etag }) => etag)
    await this.#attempt('create', key, signal, abort =>
      this.#blob(key).commitBlockList(blocks, {
        ...abort,
        blobHTTPHeaders: contentType,
        conditions: ifNone,
        metadata: { [tokenName]: token },
      }),
    )
  }

  /** There is no request for it: the service discards uncommitted blocks after a week. */
  async abortUpload(): Promise<void> {}

  close(): void {
    this.#container.close()
  }

  #blob(key: string): BlockBlobClient {
    return this.#container.client.getBlockBlobClient(this.#folder + key)
  }

  #pageOf(page: ListedPage | undefined, prefix: string): ObjectPage {
    const { blobItems = [], blobPrefixes = [] } = page?.segment ?? {}
    return {
      objects: blobItems.map(({ name, properties }) => ({
        key: name.slice(this.#folder.length),
        size: properties.contentLength ?? 0,
        modifiedMs: modifiedMsOf(properties.lastModified),
      })),
      folders: blobPrefixes.map(({ name }) => name.slice(prefix.length, -1)),
      next: page?.continuationToken || undefined,
    }
  }

  #attempt<T>(
    action: string,
    key: string,
    signal: AbortSignal,
    send: (abort: { abortSignal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    return sendUntilAborted(send, error => mapAzureError(error, { action, key, ...this.#context }), signal)
  }
}

interface ListedPage {
  segment: {
    blobItems?: { name: string; properties: { contentLength?: number; lastModified?: Date } }[]
    blobPrefixes?: { name: string }[]
  }
  continuationToken?: string
}
