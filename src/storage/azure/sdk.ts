import type { BlockBlobClient } from '@azure/storage-blob'
import { hasCode } from '../../errors.ts'
import { untilAborted } from '../../lib/until-aborted.ts'
import type {
  ByteRange,
  ListPageOptions,
  MultipartApi,
  ObjectHead,
  ObjectPage,
  PartPlace,
  PutCondition,
  UploadedPart,
} from '../bucket/api.ts'
import { type OpenedContainer, openContainer } from './client.ts'
import { errorNameOf, mapAzureError } from './error.ts'
import type { AzureOptions } from './options.ts'

/** Metadata of an object that a writer made. Names are those of identifiers, so it has no dashes. */
const tokenName = 'kafkabackupwriter'

const contentType = { blobContentType: 'application/octet-stream' }
const ifNone = { ifNoneMatch: '*' }

/** The only file that sends requests to Azure. It is loaded with the SDK, when a container is first used. */
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
      const found = await this.#attempt('look at', key, signal, abort => this.#blob(key).getProperties(abort))
      return {
        size: found.contentLength ?? 0,
        modifiedMs: timeOf(found.lastModified),
        token: found.metadata?.[tokenName],
      }
    } catch (error) {
      // An object that is not there is an answer; a container that is not there is a mistake.
      const isAnswer = hasCode(error, 'STORAGE_NOT_FOUND') && errorNameOf(error.cause) !== 'ContainerNotFound'
      if (isAnswer) return undefined
      throw error
    }
  }

  async get(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<Buffer> {
    const { start = 0, length } = range ?? {}
    return this.#attempt('read', key, signal, async abort => {
      const answer = await this.#blob(key).download(start, length, { ...abort, maxRetryRequests: 0 })
      return collect(answer.readableStreamBody as AsyncIterable<Buffer>)
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

  /** Blocks need no beginning: the token names the upload, sets its blocks apart from those of others, and is committed with them. */
  async beginUpload(_key: string, token: string): Promise<string> {
    return token
  }

  async putPart(
    key: string,
    { uploadId, number }: PartPlace,
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

  /** There is no request for it: the service drops blocks that nobody commits after a week. */
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
        modifiedMs: timeOf(properties.lastModified),
      })),
      folders: blobPrefixes.map(({ name }) => name.slice(prefix.length, -1)),
      next: page?.continuationToken || undefined,
    }
  }

  /** The wait for a token knows no signal, so the whole call is left when it is aborted. */
  async #attempt<T>(
    action: string,
    key: string,
    signal: AbortSignal,
    call: (abort: { abortSignal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    try {
      return await untilAborted(call({ abortSignal: signal }), signal)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw mapAzureError(error, { action, key, ...this.#context })
    }
  }
}

interface ListedPage {
  segment: {
    blobItems?: { name: string; properties: { contentLength?: number; lastModified?: Date } }[]
    blobPrefixes?: { name: string }[]
  }
  continuationToken?: string
}

/** A store that does not tell is taken to have written it just now: nothing is then old enough to be swept. */
function timeOf(modified: Date | undefined): number {
  return modified?.getTime() ?? Number.MAX_SAFE_INTEGER
}

async function collect(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
}
