import { createHash } from 'node:crypto'
import * as z from 'zod'
import { restoresPrefix } from '../../archive/layout.ts'
import { parseSealed } from '../../archive/manifest.ts'
import { registryFlavours } from '../../archive/registry-model.ts'
import { sealJson } from '../../archive/seal.ts'
import { hasCode, KafkaBackupError } from '../../errors.ts'
import { type Clock, formatUtc } from '../../lib/clock.ts'
import type { Storage } from '../../storage/storage.ts'
import { noLessons } from './plan/lessons.ts'
import type { JournaledLessons, RestoreJournal } from './plan/restore-step.ts'
import type { Journaled } from './survey-target.ts'

const scope = z.union([
  z.strictObject({ kind: z.literal('global') }),
  z.strictObject({ kind: z.literal('context'), context: z.string() }),
  z.strictObject({ kind: z.literal('subject'), subject: z.string() }),
])

/** Pairs of a version and what was learned of it. */
const pairs = <T extends z.ZodType>(value: T) => z.array(z.tuple([z.string(), value]))

const lessonsSchema = z.strictObject({
  server: z
    .strictObject({ flavour: z.enum(registryFlavours), version: z.string().nullable() })
    .nullable()
    .optional(),
  drops: z.array(z.enum(['metadata', 'ruleSet'])),
  held_as: pairs(z.strictObject({ version: z.int(), print: z.string() })),
  undeletable: pairs(z.string()),
  settings: z.array(
    z.strictObject({
      scope,
      setting: z.union([
        z.strictObject({
          config: z.strictObject({
            compatibility: z.string().nullable(),
            config: z.record(z.string(), z.json()).nullable(),
          }),
        }),
        z.strictObject({ mode: z.string().nullable() }),
      ]),
      reason: z.string(),
      isIgnored: z.boolean(),
    }),
  ),
})

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
  modesNotRead: z.array(z.string()).optional(),
  imported: z.array(z.string()).optional(),
  lessons: lessonsSchema.optional(),
  checksum: z.string(),
})

const DONE = '.done'

/**
 * What a restore of schemas has to know of an earlier run that was killed: previous settings, and what it has created. Each run
 * writes one journal before it touches the registry, and a mark next to it when it has completed. Nothing is replaced or
 * removed, so a store that allows neither can hold it.
 */
export class JournalBook {
  readonly #storage: Storage
  readonly #prefix: string
  /** Where runs of versions that followed the order of the addresses have written. */
  readonly #prefixes: readonly string[]
  readonly #clock: Clock
  readonly #newRun: () => string
  #open: string[] = []
  readonly #own = new Set<string>()

  constructor(
    { storage, clock, newRun }: { storage: Storage; clock: Clock; newRun: () => string },
    { backupId, registry }: { backupId: string; registry: string },
  ) {
    this.#storage = storage
    this.#clock = clock
    this.#newRun = newRun
    // The same registry, whatever the order in which a job lists its addresses.
    const sorted = registry.split(', ').sort().join(', ')
    this.#prefix = prefixOf(backupId, sorted)
    this.#prefixes = [...new Set([this.#prefix, prefixOf(backupId, registry)])]
  }

  /**
   * What runs that did not end well have written down, together: each has what it has read of those before it, but clocks
   * of several machines do not show which was the last. And what all runs have imported.
   */
  async read(signal: AbortSignal): Promise<Journaled> {
    const keys: string[] = []
    for (const prefix of this.#prefixes) {
      for await (const { key } of this.#storage.list(prefix, signal)) keys.push(key)
    }
    const done = new Set(keys.filter(key => key.endsWith(DONE)))
    const written = keys.filter(key => !key.endsWith(DONE)).sort()
    this.#open = written.filter(key => !done.has(`${key}${DONE}`))
    const journals = new Map<string, RestoreJournal>()
    for (const key of written) {
      const parsed = parseSealed(journalSchema, await this.#storage.read(key, signal), key)
      const { imported = [], modesNotRead = [], lessons, ...journal } = parsed
      const learned = lessons && { learned: parseLessons(lessons) }
      journals.set(key, { ...journal, imported, modesNotRead, ...learned })
    }
    const unfinished = this.#open.flatMap(key => journals.get(key) ?? [])
    return {
      unfinished: unfinished.length === 0 ? undefined : mergeJournals(unfinished),
      imported: new Set([...journals.values()].flatMap(({ imported }) => imported)),
      learned: [...journals.values()].flatMap(({ learned }) => learned ?? []),
      lessons: noLessons,
    }
  }

  async write(journal: RestoreJournal, signal: AbortSignal): Promise<void> {
    const createdAt = formatUtc(this.#clock.now())
    const stamp = createdAt.replaceAll(/[:.]/g, '-')
    const key = `${this.#prefix}${stamp}.${this.#newRun()}.json`
    const head = { format: 'kafka-backup-registry-journal', format_version: 1, created_at: createdAt }
    const { learned, ...rest } = journal
    const lessons = learned && { lessons: formatLessons(learned) }
    await this.#create(key, sealJson({ ...head, ...rest, ...lessons }), signal)
    this.#open.push(key)
    this.#own.add(key)
  }

  /** Nothing is left to undo or to continue. */
  async close(signal: AbortSignal): Promise<void> {
    await this.#end(this.#open, signal)
  }

  /** The same for this run alone: what earlier ones have left stays open. */
  async withdraw(signal: AbortSignal): Promise<void> {
    await this.#end(
      this.#open.filter(key => this.#own.has(key)),
      signal,
    )
  }

  async #end(keys: readonly string[], signal: AbortSignal): Promise<void> {
    for (const key of keys) await this.#create(`${key}${DONE}`, Buffer.alloc(0), signal)
    this.#open = this.#open.filter(key => !keys.includes(key))
  }

  async #create(key: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    try {
      await this.#storage.create(key, bytes, signal)
    } catch (cause) {
      if (hasCode(cause, 'STORAGE_EXISTS')) return
      if (!hasCode(cause, 'STORAGE_DENIED', 'STORAGE_REFUSED')) throw cause
      const message = `the journal of the schemas' restore cannot be written: ${cause.message}`
      const help =
        'The next run needs it to continue after a crash. Allow writing there, or name another place in ' +
        'enterprise.schema_registry.restore.journal.'
      throw new KafkaBackupError(cause.code, message, { cause, help })
    }
  }
}

function prefixOf(backupId: string, registry: string): string {
  const name = createHash('sha256').update(registry).digest('hex').slice(0, 12)
  return `${restoresPrefix(backupId)}registry-${name}/`
}

/** What was refused is not kept: the next run tries it again. */
function formatLessons({ server, lessons }: JournaledLessons): z.infer<typeof lessonsSchema> {
  const { drops, heldAs, undeletable, settings } = lessons
  return { server, drops: [...drops], held_as: [...heldAs], undeletable: [...undeletable], settings: [...settings] }
}

function parseLessons(stored: z.infer<typeof lessonsSchema>): JournaledLessons {
  const { server = null, drops, held_as, undeletable, settings } = stored
  return {
    server,
    lessons: { ...noLessons, drops, heldAs: new Map(held_as), undeletable: new Map(undeletable), settings },
  }
}

/** A scope that several have touched is the same in all of them: as it was before the first. */
function mergeJournals(journals: readonly RestoreJournal[]): RestoreJournal {
  const union = (pick: (one: RestoreJournal) => readonly string[]) => [...new Set(journals.flatMap(pick))]
  const settings = journals.flatMap(one => one.settings).map(one => [JSON.stringify(one.scope), one] as const)
  const read = new Set(journals.flatMap(readModes))
  return {
    settings: [...new Map(settings).values()],
    emptyContexts: union(one => one.emptyContexts),
    createdSubjects: union(one => one.createdSubjects),
    registered: union(one => one.registered),
    fillers: union(one => one.fillers),
    imported: union(one => one.imported),
    modesNotRead: union(one => one.modesNotRead ?? []).filter(subject => !read.has(subject)),
  }
}

/** The subjects whose modes were read before the journal was written. */
function readModes({ settings, createdSubjects, modesNotRead }: RestoreJournal): string[] {
  const notRead = new Set(modesNotRead)
  const touched = settings.flatMap(({ scope }) => (scope.kind === 'subject' ? [scope.subject] : []))
  return [...touched, ...createdSubjects].filter(subject => !notRead.has(subject))
}
