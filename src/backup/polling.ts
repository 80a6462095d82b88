import { accessKinds } from '../archive/access-section.ts'
import { incarnationKey } from '../archive/incarnation.ts'
import type { Manifest } from '../archive/manifest.ts'
import { type SectionName, sectionNames } from '../archive/registry-section.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { BackupOptions } from './backup-options.ts'
import type { SettingsCache } from './observe-source.ts'
import type { BackupParts, Prepared } from './round.ts'
import { takeAccess, takeGroups, takeRegistry } from './take-sections.ts'

/**
 * Decides which rounds of a continuous run read more than records: topic settings, schemas, consumer groups and access
 * rules. A large registry takes thousands of requests, so rounds in between carry what the last such round has read.
 */
export class Polling {
  readonly #options: BackupOptions
  readonly #clock: Clock
  #settings: SettingsCache = new Map()
  #settingsAt = ''
  /** Of the sections that were read last: they hold as long as the sections are carried. */
  readonly #warnings = new Map<SectionName, readonly string[]>()
  /** Sections that could not be read: the next round tries them again. */
  #failed: readonly SectionName[] = []
  /** When the last round began that has read everything and was committed; undefined where the next one must. */
  #polledMs: number | undefined
  #beganMs = 0
  #readsSettings = true
  /** This round has read the last of what was missing. */
  #completes = true

  constructor(options: BackupOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  /** Before a round observes the source: the settings that it need not read again, and whether it asks for sizes. */
  begin(): { settings: SettingsCache; readsSizes: boolean } {
    this.#beganMs = this.#clock.monotonic()
    this.#readsSettings = this.#isDue()
    if (this.#readsSettings) {
      this.#settings = new Map()
      this.#settingsAt = formatUtc(this.#clock.now())
    }
    return { settings: this.#settings, readsSizes: this.#readsSettings }
  }

  /** When the ends of the round are fixed: the sections of its generation, read or carried. */
  async takeSections(prepared: Prepared, parts: BackupParts, signal: AbortSignal): Promise<Prepared> {
    const settings = this.#readsSettings ? {} : { settingsAt: this.#settingsAt }
    const observed = { ...prepared, ...settings }
    const readsAll = this.#readsSettings || hasReplaced(prepared)
    const names = readsAll ? sectionNames : this.#failed
    const hadFailed = this.#failed.length > 0
    const base = readsAll ? observed : this.#carry(observed)
    const taken = await this.#take(base, names, parts, signal)
    this.#failed = names.filter(name => hasFailed(name, taken))
    this.#completes = this.#failed.length === 0 && (this.#readsSettings || hadFailed)
    return taken
  }

  /** What the sections that were read last warn of. */
  warningsOf(names: readonly SectionName[]): string[] {
    return names.flatMap(name => this.#warnings.get(name) ?? [])
  }

  /** After the generation of a round was committed: since when everything was read; undefined where something is missing, or was known before. */
  committed(): string | undefined {
    if (this.#readsSettings) this.#polledMs = this.#beganMs
    return this.#completes ? this.#settingsAt : undefined
  }

  /** After trouble: it is not known what was missed. */
  forget(): void {
    this.#polledMs = undefined
  }

  #carry(observed: Prepared): Prepared {
    const isKept = (name: SectionName) => !this.#failed.includes(name)
    const { carried = [], ...prepared } = carrySections(observed, this.warningsOf(sectionNames.filter(isKept)))
    return { ...prepared, carried: carried.filter(isKept) }
  }

  /** A section that fails as it did before is not reported again. */
  async #take(base: Prepared, names: readonly SectionName[], parts: BackupParts, signal: AbortSignal) {
    let taken = base
    for (const name of names) {
      const known = this.#failed.includes(name) ? this.warningsOf([name]) : []
      const { warnings: before } = taken.plan
      taken = await takers[name](taken, this.#options.backupId, parts, signal)
      const own = taken.plan.warnings.slice(before.length)
      this.#warnings.set(name, own)
      const isNews = (message: string) => !known.includes(message)
      const { carriedWarnings = [] } = taken.plan
      const plan = {
        ...taken.plan,
        warnings: [...before, ...own.filter(isNews)],
        carriedWarnings: [...carriedWarnings, ...own.filter(message => !isNews(message))],
      }
      taken = { ...taken, plan }
    }
    return taken
  }

  /** A poll waits for a round: the one that is nearest to the end of the interval. */
  #isDue(): boolean {
    const { pollIntervalMs = 0, commitIntervalMs } = this.#options
    if (this.#polledMs === undefined) return true
    return this.#beganMs - this.#polledMs + commitIntervalMs / 2 >= pollIntervalMs
  }
}

export const takers = { schema_registry: takeRegistry, consumer_groups: takeGroups, access: takeAccess }

/** Pure. A registry that cannot be read ends the round instead. */
export function hasFailed(name: SectionName, { groups, access }: Prepared): boolean {
  if (name === 'consumer_groups') return groups?.state === 'failed'
  return name === 'access' && access !== undefined && accessKinds.some(kind => access[kind].state === 'failed')
}

/**
 * Pure. Committed offsets that were read of a topic which is replaced now mean records of its older incarnation: with a restore of the new
 * one, a group would skip its first records.
 */
export function hasReplaced({ plan, previous }: Pick<Prepared, 'plan' | 'previous'>): boolean {
  const known = new Set(previous?.topics.filter(({ state }) => state === 'replaced').map(incarnationKey))
  return plan.topics.some(topic => topic.state === 'replaced' && !known.has(incarnationKey(topic)))
}

/** Pure. The schemas of the generation before are carried by its publisher. */
export function carrySections(prepared: Prepared, warnings: readonly string[]): Prepared {
  const { previous, plan } = prepared
  const { consumer_groups: groups, access } = previous ?? {}
  return {
    ...prepared,
    ...(groups && { groups }),
    ...(access && { access }),
    carried: carriedOf(previous),
    plan: { ...plan, carriedWarnings: [...warnings] },
  }
}

function carriedOf({ consumer_groups: groups, access }: Partial<Manifest> = {}): SectionName[] {
  return [
    ...(groups && groups.state !== 'off' ? (['consumer_groups'] as const) : []),
    ...(access ? (['access'] as const) : []),
  ]
}
