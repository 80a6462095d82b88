import type { Cluster } from '../kafka/cluster.ts'
import { commitGroupOffsets, fetchGroupOffsets } from '../kafka/group-offsets.ts'
import type { ProducerIdentity } from '../kafka/producer.ts'

/** How far one partition of the target is filled. It lives on the target itself, so that any machine can go on. */
export interface StreamProgress {
  topic: string
  partition: number
  /** Where the next record of the target goes. */
  targetOffset: bigint
  /** The next offset of the source that is to be sent. */
  sourceOffset: bigint
  sequence: number
  isDone: boolean
}

export interface RestoreProgress {
  identity: ProducerIdentity
  streams: Map<string, StreamProgress>
}

export function restoreGroup(restoreId: string): string {
  return `__kafka-backup.restore.${restoreId}`
}

export function streamKey({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}/${partition}`
}

/** Undefined where this restore has never begun. */
export async function readProgress(
  cluster: Cluster,
  restoreId: string,
  signal: AbortSignal,
): Promise<RestoreProgress | undefined> {
  const found = await fetchGroupOffsets(cluster, restoreGroup(restoreId), 'all', signal)
  let identity: ProducerIdentity | undefined
  const streams = new Map<string, StreamProgress>()
  for (const { topic, partition, offset, metadata } of found) {
    const note = decodeNote(metadata)
    if (!note) continue
    identity = { producerId: BigInt(note.p), producerEpoch: note.e }
    streams.set(streamKey({ topic, partition }), {
      topic,
      partition,
      targetOffset: offset,
      sourceOffset: BigInt(note.o),
      sequence: note.q,
      isDone: note.d === 1,
    })
  }
  return identity && { identity, streams }
}

export async function writeProgress(
  cluster: Cluster,
  restoreId: string,
  { identity, streams }: { identity: ProducerIdentity; streams: readonly StreamProgress[] },
  signal: AbortSignal,
): Promise<void> {
  const offsets = streams.map(({ topic, partition, targetOffset, ...rest }) => ({
    topic,
    partition,
    offset: targetOffset,
    leaderEpoch: -1,
    metadata: encodeNote(identity, rest),
  }))
  await commitGroupOffsets(cluster, restoreGroup(restoreId), offsets, signal)
}

interface Note {
  v: 1
  /** Source offset, producer id, epoch, sequence, whether it is done. */
  o: string
  p: string
  e: number
  q: number
  d: 0 | 1
}

function encodeNote(
  { producerId, producerEpoch }: ProducerIdentity,
  { sourceOffset, sequence, isDone }: Pick<StreamProgress, 'sourceOffset' | 'sequence' | 'isDone'>,
): string {
  const note: Note = {
    v: 1,
    o: `${sourceOffset}`,
    p: `${producerId}`,
    e: producerEpoch,
    q: sequence,
    d: isDone ? 1 : 0,
  }
  return JSON.stringify(note)
}

function decodeNote(text: string): Note | undefined {
  try {
    const note = JSON.parse(text)
    return note?.v === 1 && /^\d+$/.test(note.o) && /^\d+$/.test(note.p) ? note : undefined
  } catch {
    return undefined
  }
}
