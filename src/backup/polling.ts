import { incarnationKey } from '../archive/incarnation.ts'
import type { Manifest } from '../archive/manifest.ts'
import type { SectionName } from '../archive/registry-section.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { BackupOptions } from './backup-options.ts'
import type { SettingsCache } from './observe-source.ts'
import type { BackupParts, Prepared } from './round.ts'
import { takeSections } from './take-sections.ts'

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
  #warnings: readonly string[] = []
  /** When the last round began that has read everything and was committed; undefined where the next one must. */
  #polledMs: number | undefined
  #beganMs = 0
  #readsSettings = true
  #readsSections = true

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
    this.#readsSections = this.#readsSettings || hasReplaced(prepared)
    if (!this.#readsSections) return carrySections(observed, this.#warnings)
    const taken = await takeSections(observed, this.#options.backupId, parts, signal)
    this.#warnings = taken.plan.warnings.slice(prepared.plan.warnings.length)
    return taken
  }

  /** After the generation of a round was committed: when it began to read everything; undefined where it has not. */
  committed(): string | undefined {
    if (!this.#readsSettings) return undefined
    this.#polledMs = this.#beganMs
    return this.#settingsAt
  }

  /** After trouble: it is not known what was missed. */
  forget(): void {
    this.#polledMs = undefined
  }

  /** A poll waits for a round: the one that is nearest to the end of the interval. */
  #isDue(): boolean {
    const { pollIntervalMs = 0, commitIntervalMs } = this.#options
    if (this.#polledMs === undefined) return true
    return this.#beganMs - this.#polledMs + commitIntervalMs / 2 >= pollIntervalMs
  }
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
