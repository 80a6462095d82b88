import { hasCode, KafkaBackupError } from '../../errors.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { isKey } from '../../lib/object-key.ts'
import { type RetryPolicy, retry } from '../../lib/retry.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { assertKey, parsePrefix } from '../key.ts'
import { refuseLargeWrite } from '../object-limits.ts'
import type { RetryObserver } from '../retrying.ts'
import type { ObjectWriter, Storage, StoredObject } from '../storage.ts'
import type { BucketApi, ObjectPage, ReceivedBytes } from './api.ts'
import { PartMemory } from './part-buffer.ts'
import type { BucketWriter, WriterParts } from './writer.ts'

export interface BucketStorageParts {
  clock?: Clock
  random?: () => number
  /** For the parts of a writer: the caller no longer has their bytes. */
  retryPolicy: RetryPolicy
  onRetry?: RetryObserver
}

/** What a backend provides. */
interface Bucket<Api extends BucketApi> {
  location: string
  partSizeBytes: number
  uploads: number
  /** Called once, by the first call that needs it. */
  openApi: () => Promise<Api>
  Writer: new (key: string, parts: WriterParts<Api>) => BucketWriter<Api>
}

/** Sends no request before the first call. */
export function openBucketStorage<Api extends BucketApi>(bucket: Bucket<Api>, parts: BucketStorageParts): Storage {
  return new BucketStorage(bucket, parts)
}

/** How long a writer may take to clean up after itself. */
const briefMs = 10_000

class BucketStorage<Api extends BucketApi> implements Storage {
  readonly location: string
  readonly writerBytes: number
  readonly #bucket: Bucket<Api>
  readonly #parts: BucketStorageParts
  readonly #memory: PartMemory
  readonly #uploads: Semaphore
  readonly #writers = new Set<BucketWriter<Api>>()
  #api: Promise<Api> | undefined

  constructor(bucket: Bucket<Api>, parts: BucketStorageParts) {
    this.location = bucket.location
    this.writerBytes = bucket.partSizeBytes
    this.#bucket = bucket
    this.#parts = parts
    this.#memory = new PartMemory(bucket.partSizeBytes, bucket.uploads)
    this.#uploads = new Semaphore(bucket.uploads)
  }

  async create(key: string, body: Uint8Array, signal: AbortSignal): Promise<void> {
    const api = await this.#open(key, signal)
    refuseLargeWrite(key, body.length, this.location)
    await api.put(key, bufferOf(body), { ifAbsent: true }, signal)
  }

  async replace(key: string, body: Uint8Array, signal: AbortSignal): Promise<void> {
    const api = await this.#open(key, signal)
    refuseLargeWrite(key, body.length, this.location)
    await api.put(key, bufferOf(body), { ifAbsent: false }, signal)
  }

  async openWriter(key: string, signal: AbortSignal): Promise<ObjectWriter> {
    const api = await this.#open(key, signal)
    const [memory, uploads] = [this.#memory, this.#uploads]
    const onEnd = () => this.#writers.delete(writer)
    const retried: WriterParts<Api>['retried'] = (...call) => this.#retried(...call)
    const briefly: WriterParts<Api>['briefly'] = work => this.#briefly(work)
    const writer = new this.#bucket.Writer(key, { api, memory, uploads, retried, briefly, onEnd })
    this.#writers.add(writer)
    return writer
  }

  async read(key: string, signal: AbortSignal): Promise<Buffer> {
    const api = await this.#open(key, signal)
    const received = await api.get(key, undefined, signal)
    await this.#assertEnd(api, key, received, received.bytes.length, signal)
    return received.bytes
  }

  async readRange(key: string, start: number, length: number, signal: AbortSignal): Promise<Buffer> {
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(length) || start < 0 || length < 0) {
      throw new KafkaBackupError('INTERNAL', `invalid range: ${length} bytes from ${start} of ${JSON.stringify(key)}`)
    }
    const api = await this.#open(key, signal)
    if (length === 0) return this.#nothingAt(api, key, start, signal)
    const received = await api.get(key, { start, length }, signal)
    if (received.bytes.length === length) return received.bytes
    const end = start + received.bytes.length
    await this.#assertEnd(api, key, received, end, signal)
    throw this.#short(key, start + length, end)
  }

  async stat(key: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    const found = await (await this.#open(key, signal)).head(key, signal)
    if (!found) return undefined
    const { size, modifiedMs, protectedUntilMs } = found
    return { key, size, modifiedMs, ...(protectedUntilMs !== undefined && { protectedUntilMs }) }
  }

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredObject> {
    for await (const { objects } of this.#pages(prefix, false, signal)) {
      for (const object of objects) {
        signal.throwIfAborted()
        if (isKey(object.key)) yield object
      }
    }
  }

  async *listFolders(prefix: string, signal: AbortSignal): AsyncGenerator<string> {
    const folder = parsePrefix(prefix)
    for await (const { folders } of this.#pages(prefix, true, signal)) {
      for (const name of folders) {
        signal.throwIfAborted()
        if (isKey(folder === '' ? name : `${folder}/${name}`)) yield name
      }
    }
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    try {
      await (await this.#open(key, signal)).remove(key, signal)
    } catch (error) {
      if (!hasCode(error, 'STORAGE_NOT_FOUND')) throw error
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#writers].map(writer => writer.abort()))
    const api = await this.#api?.catch(() => undefined)
    api?.close()
  }

  async #open(key: string, signal: AbortSignal): Promise<Api> {
    assertKey(key)
    signal.throwIfAborted()
    return this.#load()
  }

  #load(): Promise<Api> {
    this.#api ??= this.#bucket.openApi()
    return this.#api
  }

  async *#pages(prefix: string, foldersOnly: boolean, signal: AbortSignal): AsyncGenerator<ObjectPage> {
    const folder = parsePrefix(prefix)
    signal.throwIfAborted()
    const api = await this.#load()
    yield* walkPages(from => api.listPage(folder, { foldersOnly, from }, signal), this.location)
  }

  /** HTTP has no empty range, but the object must be long enough. */
  async #nothingAt(api: BucketApi, key: string, start: number, signal: AbortSignal): Promise<Buffer> {
    const size = await this.#sizeOf(api, key, signal)
    if (start > size) throw this.#short(key, start, size)
    return Buffer.alloc(0)
  }

  /** A response without a length may have ended early: the object must end where its bytes end. */
  async #assertEnd(
    api: BucketApi,
    key: string,
    { isMeasured }: ReceivedBytes,
    end: number,
    signal: AbortSignal,
  ): Promise<void> {
    const size = isMeasured ? end : await this.#sizeOf(api, key, signal)
    if (size === end) return
    const what = `the response for ${JSON.stringify(key)} from ${this.location} ended at byte ${end} of ${size}`
    throw new KafkaBackupError('STORAGE_UNAVAILABLE', what, { details: { key, location: this.location } })
  }

  async #sizeOf(api: BucketApi, key: string, signal: AbortSignal): Promise<number> {
    const found = await api.head(key, signal)
    if (found) return found.size
    throw new KafkaBackupError('STORAGE_NOT_FOUND', `${JSON.stringify(key)} does not exist in ${this.location}`, {
      details: { key, location: this.location },
    })
  }

  #retried<T>(key: string, call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock = systemClock, random = Math.random, retryPolicy, onRetry } = this.#parts
    let mayBeThere = true
    const isRetryable = (error: unknown) => {
      if (!hasCode(error, 'STORAGE_NOT_FOUND')) return error instanceof KafkaBackupError && error.retryable
      // During a fail-over, a store may not know its bucket or an upload for a moment.
      const isFirst = mayBeThere
      mayBeThere = false
      return isFirst
    }
    const notify = (error: unknown, attempt: number, delayMs: number) =>
      onRetry?.({ operation: 'write', key, error, attempt, delayMs })
    return retry(call, retryPolicy, { clock, random, isRetryable, onRetry: notify }, signal)
  }

  async #briefly(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const controller = new AbortController()
    const { clock = systemClock } = this.#parts
    const cancel = clock.after(briefMs, () => controller.abort(new Error(`not done within ${briefMs} ms`)))
    try {
      await work(controller.signal)
    } finally {
      cancel()
    }
  }

  #short(key: string, wanted: number, size: number): KafkaBackupError {
    const name = `${JSON.stringify(key)} in ${this.location}`
    return new KafkaBackupError('STORAGE_SHORT', `${name} ends at byte ${size}; ${wanted} bytes were expected`, {
      details: { key, location: this.location },
    })
  }
}

function bufferOf(body: Uint8Array): Buffer {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
}

/** All pages of a listing. Tokens that come round again are found with the memory of one: it is replaced ever more rarely. */
async function* walkPages<Page extends { next: string | undefined }>(
  fetchPage: (from: string | undefined) => Promise<Page>,
  location: string,
): AsyncGenerator<Page> {
  let [from, kept]: (string | undefined)[] = []
  let keepAt = 1
  let pages = 0
  do {
    const page: Page = await fetchPage(from)
    yield page
    if (page.next !== undefined && page.next === kept) {
      throw new KafkaBackupError('STORAGE_UNAVAILABLE', `${location} returns the same page of an object listing again`)
    }
    from = page.next
    if (++pages < keepAt) continue
    kept = from
    keepAt *= 2
  } while (from !== undefined)
}
