import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { SourceBatch } from '../batch/compression.ts'
import { type Codec, readHeader } from '../batch/header.ts'
import { KafkaBackupError } from '../errors.ts'
import type { IdMap } from '../registry/ids/id-map.ts'
import type { KnownSchemas } from '../registry/ids/known-schemas.ts'
import type { TopicRewrite } from './part-rewriter.ts'
import type { PatchedBatch } from './patch-ids.ts'
import type { PatchAnswer, PatchMessage } from './patch-worker.ts'
import type { IdRewriter } from './rewrite-ids.ts'

interface Waiting {
  source: SourceBatch
  memory: SharedArrayBuffer
  resolve(patched: PatchedBatch): void
  reject(error: unknown): void
}

/** Next to this file: as source, compiled, and in the bundle of the program. */
const workerFile = new URL(`./patch-worker${extname(import.meta.filename)}`, import.meta.url)

/** A thread makes few objects that last; where there is room for more, they wait longer for the collector. */
const YOUNG_MB = 2

/** One thread that patches batches, one after the other. It keeps the process alive while it has something to do. */
export class PatchThread {
  readonly #worker = new Worker(workerFile, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } })
  readonly #waiting = new Map<number, Waiting>()
  readonly #rewrites = new Map<TopicRewrite, number>()
  readonly #maps = new Map<IdMap, number>()
  readonly #schemas = new Map<KnownSchemas, number>()
  #tasks = 0
  #failure: KafkaBackupError | undefined

  constructor() {
    this.#worker.unref()
    this.#worker.on('message', (answer: PatchAnswer) => this.#settle(answer))
    this.#worker.on('error', cause => this.#fail(cause))
    this.#worker.on('exit', () => this.#fail(undefined))
  }

  /** How many batches wait for it. */
  get load(): number {
    return this.#waiting.size
  }

  patch(source: SourceBatch, ids: IdRewriter, codec: Codec | 'keep'): Promise<PatchedBatch> {
    if (this.#failure) return Promise.reject(this.#failure)
    const { promise, resolve, reject } = Promise.withResolvers<PatchedBatch>()
    const rewrite = this.#rewriteOf(ids.rewrite)
    const task = this.#tasks++
    const bytes = sharedCopyOf(source)
    if (this.#waiting.size === 0) this.#worker.ref()
    this.#waiting.set(task, { source, memory: bytes.buffer, resolve, reject })
    this.#send({ type: 'batch', task, bytes, codec, rewrite, name: ids.name })
    return promise
  }

  /** What waits is answered before. */
  close(): void {
    this.#send({ type: 'close' })
  }

  #rewriteOf(topic: TopicRewrite): number {
    const known = this.#rewrites.get(topic)
    if (known !== undefined) return known
    const { idMap, schemas, ...settings } = topic
    const rewrite = this.#rewrites.size
    this.#rewrites.set(topic, rewrite)
    const isJudged = Object.keys(settings.judged).length > 0
    const needed = { map: this.#mapOf(idMap), schemas: isJudged ? this.#schemasOf(schemas) : undefined }
    this.#send({ type: 'rewrite', rewrite, settings, ...needed })
    return rewrite
  }

  #schemasOf(known: KnownSchemas): number {
    const there = this.#schemas.get(known)
    if (there !== undefined) return there
    const schemas = this.#schemas.size
    this.#schemas.set(known, schemas)
    this.#send({ type: 'schemas', schemas, versions: known.versions, maxIds: known.maxIds })
    return schemas
  }

  #mapOf(idMap: IdMap): number {
    const known = this.#maps.get(idMap)
    if (known !== undefined) return known
    const map = this.#maps.size
    this.#maps.set(idMap, map)
    this.#send({ type: 'ids', map, pairs: idMap.pairs, guids: idMap.guids })
    return map
  }

  #send(message: PatchMessage): void {
    this.#worker.postMessage(message)
  }

  #settle(answer: PatchAnswer): void {
    const waiting = this.#waiting.get(answer.task)
    this.#waiting.delete(answer.task)
    if (this.#waiting.size === 0) this.#worker.unref()
    if (!waiting) return
    keepShared(waiting.memory)
    if ('error' in answer) {
      const { code, message, help, details } = answer.error
      waiting.reject(new KafkaBackupError(code, message, { help, details }))
    } else {
      const { counts, bytes } = answer
      waiting.resolve({ batch: bytes ? asBatch(bytes) : waiting.source, isChanged: bytes !== undefined, counts })
    }
  }

  #fail(cause: unknown): void {
    this.#failure ??= new KafkaBackupError('INTERNAL', `a thread has ended: ${String(cause)}`, { cause })
    for (const { reject } of this.#waiting.values()) reject(this.#failure)
    this.#waiting.clear()
  }
}

/** Of a usual batch. Larger memory is not kept for the next one. */
const SHARED_BYTES = 256 << 10
const MAX_KEPT = 32
/** Memory for batches on their way to a thread, of all threads. The collectors would count memory that is sent, on both sides. */
const shared: SharedArrayBuffer[] = []

/** The piece that the batch lies in is still needed here. */
function sharedCopyOf({ bytes, header: { position, sizeBytes } }: SourceBatch): Uint8Array<SharedArrayBuffer> {
  const known = sizeBytes <= SHARED_BYTES ? shared.pop() : undefined
  const copy = new Uint8Array(known ?? new SharedArrayBuffer(Math.max(sizeBytes, SHARED_BYTES)), 0, sizeBytes)
  bytes.copy(copy, 0, position, position + sizeBytes)
  return copy
}

function keepShared(memory: SharedArrayBuffer): void {
  if (memory.byteLength === SHARED_BYTES && shared.length < MAX_KEPT) shared.push(memory)
}

function asBatch({ buffer, byteOffset, byteLength }: Uint8Array): SourceBatch {
  const bytes = Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
  return { bytes, header: readHeader(bytes, 0) }
}
