import type { Cluster } from '../kafka/cluster.ts'
import { commitGroupOffsets, fetchGroupOffsets, type GroupOffset } from '../kafka/group-offsets.ts'
import type { ProducerIdentity } from '../kafka/produce-lane.ts'
import { isMarks } from './group-marks.ts'
import { decodeTally, encodeTally, type IdTally } from './id-counts.ts'
import type { SourcePosition } from './legs.ts'

/** How far one partition of the target is filled, and what of the source comes next. It is stored on the target, so that any machine can resume. */
export interface StreamProgress extends SourcePosition {
  topic: string
  partition: number
  /** Where the next record of the target goes. */
  targetOffset: bigint
  sequence: number
  /** It has all its records, and so had every partition of the restore then; what is left is to set the topics up. */
  isFilled: boolean
  isDone: boolean
  /** The restore has made the topic, and so sets it up in the end, whatever it looks like by then. */
  isMade?: boolean
  /** Where the restore was prepared for several processes. */
  shard?: ShardPin
  /** Its shard has written all its records; the other shards may not have. */
  isFilledByShard?: boolean
  /** What all runs have found of schema IDs in its records, where they were looked for. */
  checked?: IdTally
  /** Of the program that writes its first records, where what it sends depends on it. Absent in notes of earlier versions. */
  version?: string
  /** Of the topic that was filled. Absent in notes of earlier versions, and where brokers give topics no IDs. */
  topicId?: string
  /** Marks of the groups that have got their offsets on it from this restore; see `addMarks`. */
  given?: string
}

/** Which of several processes fills a partition, as `restore --prepare` has decided. */
export interface ShardPin {
  /** From 0. */
  index: number
  count: number
  /** Of the program that prepared the restore: another one may see other records as schema IDs. */
  version: string
  /** As the job of the preparation had it: shards that disagree on it would take records of others for a conflict, or not. */
  existingTopics?: 'fail' | 'append'
}

/** What all notes of a restore have in common. */
export interface RestoreMark {
  identity: ProducerIdentity
  generation: number
  /** Of what goes where: notes of another plan would be misread. */
  fingerprint: string
  /** Of the schemas that the restore began with; see `RegistrySnapshot`. Absent where they are those of its generation. */
  schemasAddedAt?: string
  /** Absent in notes of earlier versions. */
  backupId?: string
}

export interface RestoreProgress extends RestoreMark {
  streams: Map<string, StreamProgress>
  /** Its notes name several producers, generations or plans: two processes have begun it at the same time. */
  isMixed?: boolean
}

/** The progress of one partition as it is stored on the target. */
export interface ProgressNote {
  stream: StreamProgress
  mark: RestoreMark
  /** The run that wrote it. One that dies or meets another may have written only some of the notes. */
  run: string
}

/** More processes than this have nothing to share. */
export const MAX_SHARDS = 1024

export function restoreGroup(restoreId: string): string {
  return `__kafka-backup.restore.${restoreId}`
}

export function streamKey({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}/${partition}`
}

/** Pure. No run has written records of the partition, or found that there are none to write. */
export function isUntouched({ sequence, isFilled, isFilledByShard }: StreamProgress): boolean {
  return sequence === 0 && !isFilled && !isFilledByShard
}

/** Empty where this restore has never begun. Notes can survive the deletion of their topics. */
export async function readNotes(cluster: Cluster, restoreId: string, signal: AbortSignal): Promise<ProgressNote[]> {
  return decodeNotes(await fetchGroupOffsets(cluster, restoreGroup(restoreId), 'all', signal))
}

/** Progress in these topics; undefined where they have none. */
export async function readProgress(
  cluster: Cluster,
  restoreId: string,
  topics: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<RestoreProgress | undefined> {
  return joinNotes(await readNotes(cluster, restoreId, signal), topics)
}

/** Pure. Only notes of these topics count: those of deleted ones may be of another generation or plan. */
export function joinNotes(notes: readonly ProgressNote[], topics: ReadonlySet<string>): RestoreProgress | undefined {
  const there = notes.filter(({ stream }) => topics.has(stream.topic))
  const last = there.at(-1)
  if (!last) return undefined
  const marks = there.map(({ mark: { identity, generation, fingerprint } }) =>
    [identity.producerId, identity.producerEpoch, generation, fingerprint].join(),
  )
  const schemasAddedAt = there.findLast(({ mark }) => mark.schemasAddedAt !== undefined)?.mark.schemasAddedAt
  return {
    ...last.mark,
    ...(schemasAddedAt !== undefined && { schemasAddedAt }),
    streams: new Map(there.map(({ stream }) => [streamKey(stream), stream])),
    ...(new Set(marks).size > 1 && { isMixed: true }),
  }
}

/** Pure. What is not a note of a restore is left out. */
export function decodeNotes(offsets: readonly GroupOffset[]): ProgressNote[] {
  return offsets.flatMap(({ topic, partition, offset, metadata }) => {
    const note = decodeNote(metadata)
    if (!note) return []
    const checked = decodeTally(note.i)
    const mark: RestoreMark = {
      identity: { producerId: BigInt(note.p), producerEpoch: note.e },
      generation: note.g,
      fingerprint: note.h,
      ...(note.k !== undefined && { schemasAddedAt: note.k }),
      ...(note.b !== undefined && { backupId: note.b }),
    }
    const stream: StreamProgress = {
      topic,
      partition,
      targetOffset: offset,
      sourcePartition: note.s,
      sourceOffset: BigInt(note.o),
      sequence: note.q,
      isFilled: note.d >= 1,
      isDone: note.d === 2,
      ...(note.m === 1 && { isMade: true }),
      ...(note.c && { shard: pinOf(note.c, note.a) }),
      ...(note.f === 1 && { isFilledByShard: true }),
      ...(checked && { checked }),
      ...(note.t !== undefined && { topicId: note.t }),
      ...(note.w !== undefined && { version: note.w }),
      ...(note.x !== undefined && { given: note.x }),
    }
    return [{ stream, mark, run: note.r }]
  })
}

/** Before every try `confirm` gets what is noted of these partitions by then, and throws where it must not be replaced. */
export async function writeProgress(
  cluster: Cluster,
  restoreId: string,
  { streams, run, ...mark }: RestoreMark & { run: string; streams: readonly StreamProgress[] },
  signal: AbortSignal,
  confirm: (noted: readonly ProgressNote[]) => void,
): Promise<void> {
  const offsets = streams.map(({ topic, partition, targetOffset, ...rest }) => ({
    topic,
    partition,
    offset: targetOffset,
    leaderEpoch: -1,
    metadata: encodeNote(mark, run, rest),
  }))
  await commitGroupOffsets(cluster, restoreGroup(restoreId), offsets, signal, current => confirm(decodeNotes(current)))
}

interface Note {
  v: 1
  /** Source partition and offset, producer id, epoch, sequence, generation, fingerprint, run; 1 is filled, 2 is done. */
  s: number
  o: string
  p: string
  e: number
  q: number
  g: number
  h: string
  r: string
  d: 0 | 1 | 2
  /** Made by the restore. */
  m?: 1
  /** The shard that fills it, of how many, and the version of the program that decided it. */
  c?: [index: number, count: number, version: string]
  /** With shards: whether records of others are allowed. */
  a?: 0 | 1
  /** Filled by its shard. */
  f?: 1
  /** When the schemas were read that add to those of the generation; empty for none. */
  k?: string
  /** The backup. */
  b?: string
  /** See `encodeTally`. */
  i?: number[]
  /** The ID of the topic, and the version that has begun to fill it. */
  t?: string
  w?: string
  /** See `addMarks`. */
  x?: string
}

function encodeNote(
  { identity: { producerId, producerEpoch }, generation, fingerprint, schemasAddedAt, backupId }: RestoreMark,
  run: string,
  {
    sourcePartition,
    sourceOffset,
    sequence,
    isFilled,
    isDone,
    isMade,
    shard,
    isFilledByShard,
    checked,
    topicId,
    version,
    given,
  }: Omit<StreamProgress, 'topic' | 'partition' | 'targetOffset'>,
): string {
  const note: Note = {
    v: 1,
    s: sourcePartition,
    o: `${sourceOffset}`,
    p: `${producerId}`,
    e: producerEpoch,
    q: sequence,
    g: generation,
    h: fingerprint,
    r: run,
    d: isDone ? 2 : isFilled ? 1 : 0,
    ...(isMade && { m: 1 }),
    ...(shard && { c: [shard.index, shard.count, shard.version] }),
    ...(shard?.existingTopics && { a: shard.existingTopics === 'append' ? 1 : 0 }),
    ...(isFilledByShard && { f: 1 }),
    ...(schemasAddedAt !== undefined && { k: schemasAddedAt }),
    ...(backupId !== undefined && { b: backupId }),
    ...(checked && { i: encodeTally(checked) }),
    ...(topicId !== undefined && { t: topicId }),
    ...(version !== undefined && { w: version }),
    ...(given !== undefined && { x: given }),
  }
  return JSON.stringify(note)
}

/** Undefined for anything that a restore has not written. */
function decodeNote(text: string): Note | undefined {
  try {
    const note = JSON.parse(text)
    const isWithin = (value: unknown, least: number, most: number) =>
      Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
    const isInt64 = (value: unknown) => /^\d{1,19}$/.test(String(value)) && BigInt(String(value)) < 2n ** 63n
    // As the header of a batch can hold them: anyone who may write to the group can write a note.
    const hasProducer = isInt64(note.p) && isWithin(note.e, -1, 32_767) && isWithin(note.q, 0, 2 ** 31 - 1)
    const hasPlace = isWithin(note.s, 0, 2 ** 31 - 1) && isInt64(note.o) && isWithin(note.d, 0, 2)
    const isOurs =
      note.v === 1 &&
      Number.isSafeInteger(note.g) &&
      hasProducer &&
      hasPlace &&
      isPin(note.c) &&
      isTime(note.k) &&
      ['string', 'undefined'].includes(typeof note.b) &&
      (note.i === undefined || decodeTally(note.i) !== undefined) &&
      [0, 1, undefined].includes(note.a) &&
      (note.t === undefined || /^[0-9a-f]{32}$/.test(note.t)) &&
      (note.w === undefined || isVersion(note.w)) &&
      (note.x === undefined || isMarks(note.x))
    return isOurs && typeof note.h === 'string' && typeof note.r === 'string' ? note : undefined
  } catch {
    return undefined
  }
}

function pinOf([index, count, version]: NonNullable<Note['c']>, appends: Note['a']): ShardPin {
  const existingTopics = appends === 1 ? 'append' : 'fail'
  return { index, count, version, ...(appends !== undefined && { existingTopics }) }
}

/** Absent, empty, or short enough to be one. */
function isTime(text: unknown): boolean {
  return text === undefined || (typeof text === 'string' && /^[\w:.+-]{0,64}$/.test(text))
}

/** Absent, or a shard that exists; the version is shown to people. */
function isPin(pin: unknown): boolean {
  if (pin === undefined) return true
  if (!Array.isArray(pin) || pin.length !== 3) return false
  const [index, count, version] = pin
  const isShard = Number.isSafeInteger(index) && Number.isSafeInteger(count) && 0 <= index && index < count
  return isShard && count <= MAX_SHARDS && isVersion(version)
}

function isVersion(text: unknown): boolean {
  return typeof text === 'string' && /^[\w.+-]{1,64}$/.test(text)
}
