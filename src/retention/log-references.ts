import { writerManifestOf } from '../archive/log/as-manifest.ts'
import { type Change, isBaseRange } from '../archive/log/change.ts'
import { findExchange } from '../archive/log/exchanged-commit.ts'
import { parseLogKey } from '../archive/log/keys.ts'
import { openGeneration } from '../archive/log/open-generation.ts'
import {
  firstCommitOf,
  numbersBetween,
  type ReadCommit,
  readChange,
  readCheckpoint,
  readCommit,
  readOwnCommit,
  readParts,
  walkCommits,
} from '../archive/log/read-commit.ts'
import { SegmentLists } from '../archive/log/segment-lists.ts'
import { rangesOf } from '../archive/log/survey-log.ts'
import { sectionObjectsOf } from '../archive/named-objects.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { readUnlessOrphan } from './named-checkpoints.ts'

/** A generation of version 2 before which nothing of the log is needed to open it, nor any later one. */
export interface LogCut {
  generation: number
  /** Of its checkpoint; 0 without one. */
  checkpoint: number
}

/**
 * The newest cut at or before a generation; undefined without one. It lies behind a roll-up or a checkpoint, so that its commit
 * needs no commit before it: what later ones need lies behind that, too.
 */
export async function findCut(
  storage: Storage,
  backupId: string,
  objects: readonly StoredObject[],
  atMost: number,
  signal: AbortSignal,
): Promise<LogCut | undefined> {
  const commits = new Set<number>()
  const ends = new Set<number>()
  for (const { key } of objects) {
    const parsed = parseLogKey(backupId, key)
    if (parsed?.kind === 'commit') commits.add(parsed.to)
    if (parsed?.kind === 'rollup' || parsed?.kind === 'checkpoint') ends.add(parsed.to)
  }
  const candidates = [...ends].map(end => end + 1).filter(one => one <= atMost && commits.has(one))
  for (const generation of candidates.sort((a, b) => b - a)) {
    const { commit, damage } = await readCommit(storage, backupId, generation, signal)
    // The one in `kept/` needs no other commit, but those behind it still need what the damaged one did.
    if (damage) continue
    if (firstCommitOf(commit) === generation) return { generation, checkpoint: commit.checkpoint?.generation ?? 0 }
  }
  return undefined
}

/**
 * What the generations from the cut to the newest one name besides documents of the log: segments, packs, and files of sections. `commits` are
 * the generations that are there, in their order.
 */
export async function readLogReferences(
  storage: Storage,
  backupId: string,
  { cut, commits }: { cut: number; commits: readonly number[] },
  signal: AbortSignal,
): Promise<Set<string>> {
  const keys = new Set<string>()
  for (const stretch of await stretchesOf(
    storage,
    backupId,
    commits.filter(one => one >= cut),
    signal,
  )) {
    await addStretch(storage, backupId, stretch, keys, signal)
  }
  return keys
}

/** In between some have gone, or were not copied; a stretch begins with a cut. A commit that was lost ends none: roll-ups cover it. */
async function stretchesOf(
  storage: Storage,
  backupId: string,
  commits: readonly number[],
  signal: AbortSignal,
): Promise<{ from: number; to: number }[]> {
  const stretches: { from: number; to: number }[] = []
  for (const range of rangesOf(commits)) {
    const last = stretches.at(-1)
    const isCut =
      !last || firstCommitOf((await readCommit(storage, backupId, range.from, signal)).commit) === range.from
    if (isCut) stretches.push({ ...range })
    else last.to = range.to
  }
  return stretches
}

/** Generations that can be opened without any commit before them. */
async function addStretch(
  storage: Storage,
  backupId: string,
  { from, to }: { from: number; to: number },
  keys: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  await refuseExchanged(storage, await readCommit(storage, backupId, from, signal), signal)
  await addState(storage, backupId, from, keys, signal)
  let generation = to
  while (generation > from) {
    for await (const change of changesOf(storage, backupId, generation, signal)) addChange(change, keys)
    const base = (await readCommit(storage, backupId, generation, signal)).commit.checkpoint?.generation ?? 0
    if (base < from) break
    const { commit } = await readCommit(storage, backupId, base + 1, signal)
    // A copy or a repair: its state is in the checkpoint, whatever the commits before it say.
    if (!commit.previous) await addState(storage, backupId, base + 1, keys, signal)
    generation = base
  }
}

/** All that one generation names. */
export async function addState(
  storage: Storage,
  backupId: string,
  generation: number,
  keys: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  const opened = await openGeneration(storage, backupId, generation, signal)
  for (const { key } of sectionObjectsOf(writerManifestOf(opened))) keys.add(key)
  const lists = new SegmentLists(storage, opened)
  for (const list of [...opened.state.lists.keys()].sort()) {
    for (const { key } of await lists.read(list, opened.state.lists.get(list), signal)) keys.add(key)
  }
}

function addChange(change: Change, keys: Set<string>): void {
  for (const key of change.passing.keys()) keys.add(key)
  for (const one of change.lists.values()) {
    for (const part of one?.parts ?? []) if (!isBaseRange(part)) keys.add(part.key)
  }
}

/** Changes that cover the generations behind a checkpoint. Roll-ups list what came and went inside them, so that few documents are read. */
async function* changesOf(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): AsyncGenerator<Change> {
  const read = await readOwnCommit(storage, backupId, generation, signal)
  await refuseExchanged(storage, read, signal)
  yield await readChange(storage, read, signal)
  const between = numbersBetween(firstCommitOf(read.commit), generation)
  yield* walkCommits(storage, backupId, between, read.commit.previous, signal)
  for (const { documents } of read.commit.rollups) yield* await readParts(storage, backupId, documents, signal)
}

/** What the commit of another log names says nothing of what later generations need. */
async function refuseExchanged(storage: Storage, read: ReadCommit, signal: AbortSignal): Promise<void> {
  const exchange = await findExchange(storage, read, signal)
  if (exchange) throw exchange
}

/** Whether a file of a section was written for a generation behind the cut: one in between may name it. */
export function isSectionSince(backupId: string, key: string, cut: number): boolean {
  const path = key.slice(backupId.length + 1)
  const match = /^(?:kafka\/[a-z]+-|schema-registry\/generations\/)(\d+)\./.exec(path)
  return match !== null && Number(match[1]) >= cut
}

/** The documents of the log that the cut, what follows it, and generations which are kept for longer do not need. Those of the newest one never go. */
export async function findOldDocuments(
  storage: Storage,
  backupId: string,
  objects: readonly StoredObject[],
  { cut, kept, commits }: { cut: LogCut; kept: readonly number[]; commits: readonly number[] },
  signal: AbortSignal,
): Promise<StoredObject[]> {
  const old: StoredObject[] = []
  const named = await documentsOf(storage, backupId, [...kept, ...commits.slice(-1)], signal)
  for (const object of objects) {
    const parsed = parseLogKey(backupId, object.key)
    if (!parsed || parsed.kind === 'kept') continue
    const { kind, to } = parsed
    const isOld =
      kind === 'commit' || kind === 'change'
        ? to < cut.generation
        : kind === 'rollup'
          ? to <= cut.checkpoint
          : to < cut.checkpoint
    if (isOld) old.push(object)
    else if (kind === 'checkpoint') {
      const documents = await readUnlessOrphan(
        storage,
        backupId,
        object.key,
        { objects, from: cut.generation, named },
        signal,
      )
      if (!documents) old.push(object)
      // A page without a change is named again by later checkpoints.
      for (const { key } of documents ?? []) named.add(key)
    }
  }
  return old.filter(({ key }) => !named.has(key))
}

/** What the commits of these generations name, and their checkpoints. */
async function documentsOf(
  storage: Storage,
  backupId: string,
  generations: readonly number[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const named = new Set<string>()
  for (const generation of generations) {
    const { commit } = await readCommit(storage, backupId, generation, signal)
    for (const { key } of [...commit.parts, ...commit.rollups.flatMap(({ documents }) => documents)]) named.add(key)
    if (!commit.checkpoint) continue
    named.add(commit.checkpoint.key)
    const { checkpoint } = await readCheckpoint(storage, backupId, commit.checkpoint, signal)
    for (const { key } of [...checkpoint.pages, ...checkpoint.parts]) named.add(key)
  }
  return named
}
