import * as z from 'zod'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { parseJson } from '../lib/json.ts'
import type { Storage } from '../storage/storage.ts'

/** What a drill has created, or was about to: the next drill removes it where this one was killed. */
const journalSchema = z.strictObject({
  format: z.literal('kafka-backup-drill-journal'),
  format_version: z.literal(1),
  run: z.string().regex(/^[0-9a-f]{16}$/),
  backup_id: z.string(),
  /** Of the target. */
  cluster_id: z.string().nullable(),
  started_at: z.iso.datetime(),
  host: z.string(),
  tool_version: z.string(),
  /** The ID is null until the cluster has answered the creation. It is in one spelling, because it is compared with those of other topics. */
  topics: z.array(
    z.strictObject({
      name: z.string(),
      id: z
        .string()
        .regex(/^[0-9a-f]{32}$/)
        .nullable(),
    }),
  ),
})

export type DrillJournal = z.output<typeof journalSchema>
export type ScratchTopic = DrillJournal['topics'][number]

const NAME = 'unfinished.json'

/** The folder of one drill in the location of the evidence. */
export function drillFolder(backupId: string, name: string): string {
  return `${backupId}/drills/${name}`
}

/** The name of the folder. */
export function drillName(startedAt: string, run: string): string {
  return `${startedAt.replaceAll(/[-:.]/g, '').toLowerCase()}-${run}`
}

/** Before the first topic is created. */
export async function createJournal(
  storage: Storage,
  folder: string,
  journal: DrillJournal,
  signal: AbortSignal,
): Promise<void> {
  await storage.create(`${folder}/${NAME}`, encode(journal), signal)
}

export async function replaceJournal(
  storage: Storage,
  folder: string,
  journal: DrillJournal,
  signal: AbortSignal,
): Promise<void> {
  await storage.replace(`${folder}/${NAME}`, encode(journal), signal)
}

export async function removeJournal(storage: Storage, folder: string, signal: AbortSignal): Promise<void> {
  await storage.remove(`${folder}/${NAME}`, signal)
}

function encode(journal: DrillJournal): Buffer {
  return Buffer.from(`${JSON.stringify(journal, undefined, 2)}\n`)
}

export type FoundJournal = { folder: string } & ({ journal: DrillJournal } | { problem: string })

/** The journals of drills that did not end. One that cannot be read is among them. */
export async function listJournals(storage: Storage, backupId: string, signal: AbortSignal): Promise<FoundJournal[]> {
  const found: FoundJournal[] = []
  for await (const { key } of storage.list(`${backupId}/drills/`, signal)) {
    if (!key.endsWith(`/${NAME}`)) continue
    const folder = key.slice(0, -NAME.length - 1)
    try {
      found.push({ folder, journal: parseJournal(await storage.read(key, signal), key) })
    } catch (error) {
      if (hasCode(error, 'STORAGE_NOT_FOUND')) continue
      if (!(error instanceof KafkaBackupError) || signal.aborted) throw error
      found.push({ folder, problem: error.message })
    }
  }
  return found.sort((a, b) => (a.folder < b.folder ? -1 : 1))
}

function parseJournal(bytes: Buffer, key: string): DrillJournal {
  const parsed = journalSchema.safeParse(tryJson(bytes))
  if (parsed.success) return parsed.data
  throw new KafkaBackupError('ARCHIVE_DAMAGED', `${key} is not the journal of a drill`, {
    help: 'Delete the topics of that drill yourself, then the file.',
  })
}

function tryJson(bytes: Buffer): unknown {
  try {
    return parseJson(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
