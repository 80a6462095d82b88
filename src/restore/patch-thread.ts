import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { SourceBatch } from '../batch/compression.ts'
import { type Codec, readHeader } from '../batch/header.ts'
import { KafkaBackupError } from '../errors.ts'
import type { IdMap } from '../registry/ids/id-map.ts'
import type { KnownSchemas } from '../registry/ids/known-schemas.ts'
import type { TopicRewrite } from './part-rewriter.ts'
import type { PatchedBatch } from './patch-ids.ts'
import type { PatchAnswer, PatchMessage, PatchResult } from './patch-worker.ts'
import type { IdRewriter } from './rewrite-ids.ts'

/** What becomes of batches. Those from the first on that could not be patched are not among them. */
export interface PatchedBatches {
  batches: readonly PatchedBatch[]
  failure?: unknown
  /** For when none of the batches is needed any more: their memory is used again. */
  release(): void
}

interface Waiting {
  sources: readonly SourceBatch[]
  memory: SharedArrayBuffer
  resolve(patched: PatchedBatches): void
  reject(error: unknown): void
}

/** Next to this file: as source, compiled, and in the bundle of the program. */
const workerFile = new URL(`./patch-worker${extname(import.meta.filename)}`, import.meta.url)

/** A thread makes few objects that last; where there is room for more, they wait longer for the collector. */
const YOUNG_MB = 2

/** One thread that patches batches, some at a time. It keeps the process alive while it has something to do. */
export class PatchThread {
  readonly #worker = new Worker(workerFile, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } })
  readonly #waiting = new Map<number, Waiting>()
  readonly #rewrites = new Map<TopicRewrite, number>()
  readonly #maps = new Map<IdMap, number>()
  readonly #schemas = new Map<KnownSchemas, number>()
  #tasks = 0
  #packs = false
  #failure: KafkaBackupError | undefined

  constructor() {
    this.#worker.unref()
    this.#worker.on('message', (answer: PatchAnswer) => this.#settle(answer))
    this.#worker.on('error', cause => this.#fail(cause))
    this.#worker.on('exit', () => this.#fail(undefined))
  }

  get hasEnded(): boolean {
    return this.#failure !== undefined
  }

  /** How many tasks wait for it. */
  get load(): number {
    return this.#waiting.size
  }

  /** Most batches of its last task were compressed again. */
  get packs(): boolean {
    return this.#packs
  }

  patch(sources: readonly SourceBatch[], ids: IdRewriter, codec: Codec | 'keep'): Promise<PatchedBatches> {
    if (this.#failure) return Promise.reject(this.#failure)
    const { promise, resolve, reject } = Promise.withResolvers<PatchedBatches>()
    const rewrite = this.#rewriteOf(ids.rewrite)
    const task = this.#tasks++
    const { memory, ends } = shareCopies(sources)
    if (this.#waiting.size === 0) this.#worker.ref()
    this.#waiting.set(task, { sources, memory, resolve, reject })
    this.#send({ type: 'batches', task, memory, ends, codec, rewrite, name: ids.name })
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
    const { sources, memory, resolve } = waiting
    const { results, error } = answer
    this.#packs = 2 * results.filter(({ isPacked }) => isPacked).length > results.length
    const batches = results.map((result, i) => asPatched(result, memory, sources[i]))
    const failure =
      error && new KafkaBackupError(error.code, error.message, { help: error.help, details: error.details })
    resolve({ batches, ...(failure && { failure }), release: () => keepShared(memory) })
  }

  #fail(cause: unknown): void {
    this.#failure ??= new KafkaBackupError('INTERNAL', `a thread has ended: ${String(cause)}`, { cause })
    for (const { reject } of this.#waiting.values()) reject(this.#failure)
    this.#waiting.clear()
  }
}

function asPatched(
  { bytes, place, ...told }: PatchResult,
  memory: SharedArrayBuffer,
  source: SourceBatch | undefined,
): PatchedBatch {
  const patched = place ? new Uint8Array(memory, place.start, place.end - place.start) : bytes
  if (patched) return { batch: asBatch(patched), isChanged: true, ...told }
  if (source) return { batch: source, isChanged: false, ...told }
  throw new KafkaBackupError('INTERNAL', 'a thread has patched more batches than it got')
}

/** For some usual batches, as they are and as they will be. Larger memory is not kept for the next ones. */
const SHARED_BYTES = 768 << 10
/** The memory for batches and their patched copies, as a multiple of the size of the batches. A copy that does not fit is sent back separately. */
const ROOM_FACTOR = 2.25
const MAX_KEPT = 12
/** Memory for batches on their way to a thread and back, of all threads. The collectors would count memory that is sent, on both sides. */
const shared: SharedArrayBuffer[] = []

/** One behind the other, with room for what becomes of them behind the last. The pieces that they lie in are still needed here. */
function shareCopies(sources: readonly SourceBatch[]): { memory: SharedArrayBuffer; ends: number[] } {
  const bytes = sources.reduce((sum, { header }) => sum + header.sizeBytes, 0)
  const size = Math.max(SHARED_BYTES, Math.ceil(ROOM_FACTOR * bytes))
  const memory = (size === SHARED_BYTES ? shared.pop() : undefined) ?? new SharedArrayBuffer(size)
  const copy = new Uint8Array(memory)
  const ends: number[] = []
  let end = 0
  for (const { bytes, header } of sources) {
    end += bytes.copy(copy, end, header.position, header.position + header.sizeBytes)
    ends.push(end)
  }
  return { memory, ends }
}

function keepShared(memory: SharedArrayBuffer): void {
  if (memory.byteLength === SHARED_BYTES && shared.length < MAX_KEPT) shared.push(memory)
}

function asBatch({ buffer, byteOffset, byteLength }: Uint8Array): SourceBatch {
  const bytes = Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
  return { bytes, header: readHeader(bytes, 0) }
}
