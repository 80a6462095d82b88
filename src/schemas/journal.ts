import { createHash } from 'node:crypto'
import * as z from 'zod'
import { restoresPrefix } from '../archive/layout.ts'
import { parseSealed } from '../archive/manifest.ts'
import { sealJson } from '../archive/seal.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { RestoreJournal } from '../registry/plan/restore-step.ts'
import type { Storage } from '../storage/storage.ts'

const scope = z.union([
  z.strictObject({ kind: z.literal('global') }),
  z.strictObject({ kind: z.literal('context'), context: z.string() }),
  z.strictObject({ kind: z.literal('subject'), subject: z.string() }),
])

const journalSchema = z.strictObject({
  format: z.literal('kafka-backup-registry-journal'),
  format_version: z.literal(1),
  created_at: z.string(),
  settings: z.array(
    z.strictObject({
      scope,
      compatibility: z.string().nullable(),
      mode: z.string().nullable(),
      config: z.record(z.string(), z.json()).nullable(),
    }),
  ),
  emptyContexts: z.array(z.string()),
  createdSubjects: z.array(z.string()),
  registered: z.array(z.string()),
  fillers: z.array(z.string()),
  checksum: z.string(),
})

const DONE = '.done'

/**
 * What a restore of schemas has to know of an earlier run that died: settings as they were, and what it has made. Each run
 * writes one journal before it touches the registry, and a mark beside it when it has ended well. Nothing is replaced or
 * removed, so that it may lie in a store that allows neither.
 */
export class JournalBook {
  readonly #storage: Storage
  readonly #prefix: string
  readonly #clock: Clock
  readonly #newRun: () => string
  #open: string[] = []

  constructor(
    { storage, clock, newRun }: { storage: Storage; clock: Clock; newRun: () => string },
    { backupId, registry }: { backupId: string; registry: string },
  ) {
    this.#storage = storage
    this.#clock = clock
    this.#newRun = newRun
    const name = createHash('sha256').update(registry).digest('hex').slice(0, 12)
    this.#prefix = `${restoresPrefix(backupId)}registry-${name}/`
  }

  /** That of the last run, where it did not end well: it has what runs before it had written. */
  async readUnfinished(signal: AbortSignal): Promise<RestoreJournal | undefined> {
    const keys: string[] = []
    for await (const { key } of this.#storage.list(this.#prefix, signal)) keys.push(key)
    const done = new Set(keys.filter(key => key.endsWith(DONE)))
    this.#open = keys.filter(key => !key.endsWith(DONE) && !done.has(`${key}${DONE}`)).sort()
    const newest = this.#open.at(-1)
    if (newest === undefined) return undefined
    const { settings, emptyContexts, createdSubjects, registered, fillers } = parseSealed(
      journalSchema,
      await this.#storage.read(newest, signal),
      newest,
    )
    return { settings, emptyContexts, createdSubjects, registered, fillers }
  }

  async write(journal: RestoreJournal, signal: AbortSignal): Promise<void> {
    const createdAt = formatUtc(this.#clock.now())
    const stamp = createdAt.replaceAll(/[:.]/g, '-')
    const key = `${this.#prefix}${stamp}.${this.#newRun()}.json`
    const head = { format: 'kafka-backup-registry-journal', format_version: 1, created_at: createdAt }
    await this.#create(key, sealJson({ ...head, ...journal }), signal)
    this.#open.push(key)
  }

  /** Nothing is left to be undone or gone on with. */
  async close(signal: AbortSignal): Promise<void> {
    for (const key of this.#open) await this.#create(`${key}${DONE}`, Buffer.alloc(0), signal)
    this.#open = []
  }

  async #create(key: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    try {
      await this.#storage.create(key, bytes, signal)
    } catch (cause) {
      if (hasCode(cause, 'STORAGE_EXISTS')) return
      if (!hasCode(cause, 'STORAGE_DENIED', 'STORAGE_REFUSED')) throw cause
      const message = `the journal of the schemas' restore cannot be written: ${cause.message}`
      const help =
        'It lets a run that died be gone on with. Allow writing there, or name another place in ' +
        'enterprise.schema_registry.restore.journal.'
      throw new KafkaBackupError(cause.code, message, { cause, help })
    }
  }
}
