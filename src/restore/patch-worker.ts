import { parentPort } from 'node:worker_threads'
import { type Codec, readHeader } from '../batch/header.ts'
import { type ErrorCode, type ErrorDetails, KafkaBackupError, toKafkaBackupError } from '../errors.ts'
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
  | ({ type: 'batch' } & PatchTask)
  | { type: 'close' }

interface PatchTask {
  task: number
  /** A whole batch in shared memory, which is the thread's until it answers. */
  bytes: Uint8Array<SharedArrayBuffer>
  codec: Codec | 'keep'
  rewrite: number
  name: string
}

/** Without bytes where nothing was changed. */
export type PatchAnswer =
  | { task: number; counts: IdCounts; bytes?: Uint8Array }
  | { task: number; error: { code: ErrorCode; message: string; help: string; details: ErrorDetails } }

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
    case 'batch':
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

function answer(wanted: PatchTask): void {
  const { task } = wanted
  try {
    const { batch, counts, isChanged } = patch(wanted)
    if (!isChanged) {
      send({ task, counts })
      return
    }
    // What was changed where it lies is shared, and used again.
    const { buffer } = batch.bytes
    const bytes = buffer instanceof ArrayBuffer ? batch.bytes : Uint8Array.from(batch.bytes)
    send({ task, counts, bytes }, bytes.buffer as ArrayBuffer)
  } catch (cause) {
    const { code, message, help, details } = toKafkaBackupError(cause)
    send({ task, error: { code, message, help, details } })
  }
}

function patch({ bytes, codec, rewrite, name }: PatchTask) {
  const topic = rewrites.get(rewrite)
  if (!topic) throw new KafkaBackupError('INTERNAL', `the ids for a batch of ${name} are not known`)
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return patchIds({ bytes: whole, header: readHeader(whole, 0) }, new IdRewriter(topic, name), codec)
}

function send(message: PatchAnswer, ...transferred: ArrayBuffer[]): void {
  parentPort?.postMessage(message, transferred)
}
