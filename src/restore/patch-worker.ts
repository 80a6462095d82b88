import { parentPort } from 'node:worker_threads'
import { type Codec, readHeader } from '../batch/header.ts'
import { type ErrorCode, type ErrorDetails, KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import { freeMemory } from '../lib/recycled-memory.ts'
import { createIdMap, type GuidPair, type IdMap, type IdPair } from '../registry/ids/id-map.ts'
import { indexSchemas, type KnownSchemas, type KnownVersion } from '../registry/ids/known-schemas.ts'
import type { IdCounts } from './id-counts.ts'
import type { TopicRewrite } from './part-rewriter.ts'
import { patchIds } from './patch-ids.ts'
import { IdRewriter } from './rewrite-ids.ts'

/**
 * The messages to a thread: the IDs of a map, schemas and what is done to a topic, each once, and batches that name the last.
 * It runs until there are no more messages.
 */
export type PatchMessage =
  | { type: 'ids'; map: number; pairs: readonly IdPair[]; guids: readonly GuidPair[] }
  | { type: 'schemas'; schemas: number; versions: readonly KnownVersion[]; maxIds: ReadonlyMap<string, number> }
  | {
      type: 'rewrite'
      rewrite: number
      map: number
      /** Undefined where no record is judged by itself. */
      schemas: number | undefined
      settings: Omit<TopicRewrite, 'idMap' | 'schemas'>
    }
  | ({ type: 'batches' } & PatchTask)
  | { type: 'close' }

interface PatchTask {
  task: number
  /** Whole batches, one behind the other, and room behind the last. It is the thread's until it answers. */
  memory: SharedArrayBuffer
  /** Of the batches. */
  ends: readonly number[]
  codec: Codec | 'keep'
  rewrite: number
  name: string
}

/** One for each batch up to the first that could not be patched. */
export interface PatchAnswer {
  task: number
  results: PatchResult[]
  error?: { code: ErrorCode; message: string; help: string; details: ErrorDetails }
}

/** Where the patched batch lies in the memory, or the batch itself where it has no room there; neither where nothing was changed. */
export interface PatchResult {
  counts: IdCounts
  isPacked: boolean
  place?: { start: number; end: number }
  bytes?: Uint8Array
}

const idMaps = new Map<number, IdMap>()
const schemas = new Map<number, KnownSchemas>()
const rewrites = new Map<number, TopicRewrite>()
const noSchemas = indexSchemas([])

parentPort?.on('message', (message: PatchMessage) => {
  switch (message.type) {
    case 'ids':
      idMaps.set(message.map, createIdMap(message.pairs, message.guids))
      break
    case 'schemas':
      schemas.set(message.schemas, indexSchemas(message.versions, message.maxIds))
      break
    case 'rewrite':
      prepare(message)
      break
    case 'batches':
      answer(message)
      break
    case 'close':
      parentPort?.close()
      break
    default:
      message satisfies never
  }
})

function prepare({ rewrite, map, schemas: known, settings }: Extract<PatchMessage, { type: 'rewrite' }>): void {
  const idMap = idMaps.get(map)
  const own = known === undefined ? noSchemas : schemas.get(known)
  if (idMap && own) rewrites.set(rewrite, { ...settings, idMap, schemas: own })
}

function answer({ task, ...wanted }: PatchTask): void {
  const results: PatchResult[] = []
  try {
    patchAll(wanted, results)
    send({ task, results })
  } catch (cause) {
    const { code, message, help, details } = toKafkaBackupError(cause)
    send({ task, results, error: { code, message, help, details } })
  }
}

function patchAll({ memory, ends, codec, rewrite, name }: Omit<PatchTask, 'task'>, results: PatchResult[]): void {
  const topic = rewrites.get(rewrite)
  if (!topic) throw new KafkaBackupError('INTERNAL', `the ids for a batch of ${name} are not known`)
  const ids = new IdRewriter(topic, name)
  let start = 0
  let free = aligned(ends.at(-1) ?? 0)
  for (const end of ends) {
    const whole = Buffer.from(memory, start, end - start)
    const { batch, isChanged, ...told } = patchIds({ bytes: whole, header: readHeader(whole, 0) }, ids, codec)
    if (!isChanged) results.push(told)
    else if (batch.bytes === whole) results.push({ ...told, place: { start, end } })
    else {
      const { bytes } = batch
      const placed = free + bytes.length
      if (placed > memory.byteLength) results.push({ ...told, bytes })
      else {
        bytes.copy(new Uint8Array(memory), free)
        results.push({ ...told, place: { start: free, end: placed } })
        freeMemory(bytes)
        free = aligned(placed)
      }
    }
    start = end
  }
}

/** Bytes are copied to shared memory one by one unless they begin at a multiple of 8. */
function aligned(position: number): number {
  return Math.ceil(position / 8) * 8
}

function send(answer: PatchAnswer): void {
  const separate = answer.results.flatMap(({ bytes }) => (bytes ? [bytes.buffer as ArrayBuffer] : []))
  parentPort?.postMessage(answer, separate)
}
