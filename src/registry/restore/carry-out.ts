import type { RegistryHold } from '../../archive/registry-lease.ts'
import type { RegistrySnapshot } from '../../archive/registry-model.ts'
import type { Clock } from '../../lib/clock.ts'
import type { OnProgress } from '../../observe/progress.ts'
import type { RegistryClient } from '../client/client.ts'
import { identityOf } from '../client/flavour.ts'
import { clearUp, type FailedRun, partKey, partOf } from './clear-up.ts'
import { confirmUnchanged } from './confirm-unchanged.ts'
import { indexReferences } from './delete-in-order.ts'
import type { JournalBook } from './journal.ts'
import { type Attempt, explain, isOwed, learn, refuseLeft, refuseOwed, unfaithful } from './learn.ts'
import { countLessons, mergeLessons, noLessons } from './plan/lessons.ts'
import type { Lessons, RegistryPlan, RestoreJournal, RestoreStep } from './plan/restore-step.ts'
import { isRefusedByMode } from './registration.ts'
import { RegistryWriter } from './registry-writer.ts'
import { PartsDropped, runSteps } from './run-steps.ts'
import { type Journaled, planForTarget, type Survey, surveyTarget } from './survey-target.ts'

export interface SchemaParts {
  client: RegistryClient
  journal: JournalBook
  /** Keeps other restores away from the registry; absent where nothing does. */
  hold?: Pick<RegistryHold, 'assertHeld'>
  clock: Clock
  onProgress: OnProgress
}

/** Each learns something that the one before it did not know. */
const MAX_ROUNDS = 20
/** A follower may not show yet what another node has accepted. */
const LAG = { attempts: 3, delayMs: 500 }

/**
 * Writes what a survey has planned, and reads the registry again until there is nothing left to do. What it refuses, or
 * takes and does not hold, is learned, and left out of the next plan. Levels and modes are restored in every case.
 */
export async function carryOut(
  backup: RegistrySnapshot,
  survey: Survey,
  parts: SchemaParts,
  signal: AbortSignal,
): Promise<Survey> {
  const run = new RestoreRun(backup, survey, parts)
  try {
    const after = await run.toEnd(signal)
    await run.keepLessons(signal)
    refuseLeft(after.plan, run, parts.onProgress)
    refuseOwed(run, parts.onProgress)
    return after
  } catch (error) {
    await clearUp(error, run, parts)
    throw error
  }
}

class RestoreRun implements FailedRun {
  readonly writer: RegistryWriter
  readonly before: RegistrySnapshot
  readonly client: RegistryClient
  /** The last journal that is durable. */
  kept: RestoreJournal | undefined
  /** Versions of the backup that were registered. */
  done = 0
  /** Something may have been changed. */
  isTouched = false
  /** The registry has answered to a write, in any round. */
  hasWritten = false
  /** Parts of settings that were changed, by `partKey`. */
  readonly begunParts = new Set<string>()
  /** Those that were changed outside the steps of the plan, and are not restored yet. */
  readonly liftedParts = new Set<string>()
  /** Subjects whose settings are to be read again. */
  readonly #touched = new Set<string>()
  #asksAllModes = false
  /** Steps of the present round that the registry took. */
  readonly answered = new Set<RestoreStep>()
  readonly #backup: RegistrySnapshot
  readonly #parts: SchemaParts
  readonly attempts = new Map<string, Attempt>()
  /** Settings and deletions that the next run has to try again. */
  readonly owed: Attempt[] = []
  #survey: Survey
  lessons: Lessons
  /** Those that a later run may rely on. */
  #lasting: Lessons
  readonly #total: number
  /** Lessons of earlier runs. */
  readonly #known: number

  constructor(backup: RegistrySnapshot, survey: Survey, parts: SchemaParts) {
    this.#backup = backup
    this.#survey = survey
    this.#parts = parts
    this.lessons = survey.options.lessons
    this.#lasting = this.lessons
    this.#known = countLessons(survey.options.lessons)
    this.#total = survey.plan.steps.filter(({ type }) => type === 'register').length
    this.client = parts.client
    this.before = survey.target
    this.writer = new RegistryWriter(parts.client, identityOf(survey.target), survey.options.traits)
  }

  get steps(): readonly RestoreStep[] {
    return this.#survey.plan.steps
  }

  async toEnd(signal: AbortSignal): Promise<Survey> {
    this.#parts.onProgress({ type: 'schemas', done: 0, total: this.#total })
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const found = await this.#round(signal)
      const next = await this.#absorb(found, signal)
      const [conflict] = next.plan.conflicts
      const refused = [...this.attempts.values()].find(({ error }) => error !== undefined)
      if (conflict) throw refused?.error ?? unfaithful(this.client.name, conflict.message)
      this.#survey = next
      this.answered.clear()
      if (next.plan.steps.length === 0) return next
    }
    throw unfaithful(this.client.name, `after ${MAX_ROUNDS} rounds of writing it still differs from the plan`)
  }

  /** Stores what was learned, and the next run does not try it again. What is owed is tried again. */
  async keepLessons(signal: AbortSignal): Promise<void> {
    const lessons = { ...this.#lasting, refused: new Map() }
    if (!this.kept || countLessons(lessons) === this.#known) return
    const server = { flavour: this.before.flavour, version: this.before.registryVersion }
    await this.#parts.journal.write({ ...this.kept, learned: { server, lessons } }, signal)
  }

  /** Carries the present plan out, as far as the registry lets it, and reads what is there then. */
  async #round(signal: AbortSignal): Promise<Survey> {
    const { clock, journal, onProgress } = this.#parts
    let found: Survey | undefined
    let isCurrent = false
    const stepParts = {
      ...{ writer: this.writer, clock, concurrency: this.client.concurrency },
      references: indexReferences(this.#survey.target.versions, this.steps),
      unproven: new Set((['metadata', 'ruleSet'] as const).filter(part => !this.lessons.drops.includes(part))),
      keepJournal: async (written: RestoreJournal) => {
        await journal.write(written, signal)
        this.kept = written
      },
      confirmUnchanged: () => confirmUnchanged(this.client, this.#survey, signal),
      verify: async (rest: readonly RestoreStep[]) => {
        found = await this.#inspect(signal)
        const isPlanned = isAsPlanned(found.plan, rest)
        isCurrent = rest.length === 0 || !isPlanned
        return isPlanned
      },
      onBegun: (step: RestoreStep) => this.#noteBegun(step),
      onLifted: (subject: string, isLifted: boolean) => {
        const key = partKey({ kind: 'subject', subject }, 'config')
        this.begunParts.add(key)
        this.#touched.add(subject)
        if (isLifted) this.liftedParts.add(key)
        else this.liftedParts.delete(key)
      },
      onAnswered: (step: RestoreStep, answer: Omit<Attempt, 'step'>) => {
        this.hasWritten = true
        if (!answer.error) this.answered.add(step)
        this.attempts.set(attemptKey(step), { step, ...answer })
        if (step.type !== 'register' || answer.error) return
        onProgress({ type: 'schemas', done: ++this.done, total: Math.max(this.#total, this.done) })
      },
    }
    try {
      await runSteps(this.steps, stepParts, signal)
    } catch (error) {
      if (!(error instanceof PartsDropped)) throw error
      this.#learn({ ...noLessons, drops: error.dropped })
      return this.#inspect(signal)
    }
    return found && isCurrent ? found : this.#inspect(signal)
  }

  #noteBegun(step: RestoreStep): void {
    this.#parts.hold?.assertHeld()
    this.isTouched = true
    const changed = partOf(step)
    if (changed) this.begunParts.add(partKey(changed.scope, changed.part))
    // With its last version a subject may lose its settings.
    if (changed?.scope.kind === 'subject') this.#touched.add(changed.scope.subject)
    else if ('subject' in step && step.type !== 'register') this.#touched.add(step.subject)
  }

  /** For this run, and for later ones. */
  #learn(lasting: Lessons): void {
    this.lessons = mergeLessons(this.lessons, lasting)
    this.#lasting = mergeLessons(this.#lasting, lasting)
  }

  /** Learns from what a new plan asks for again, until it asks for nothing that was sent. */
  async #absorb(found: Survey, signal: AbortSignal): Promise<Survey> {
    const read = this.#asksModesAgain() ? await this.#inspect(signal) : found
    let next = await this.#awaitLag(read, signal)
    for (;;) {
      const repeated = next.plan.steps.flatMap(step => this.#attemptOf(step) ?? [])
      if (repeated.length === 0) return next
      const { lessons, unexplained } = learn(repeated, next.target)
      const merged = mergeLessons(this.lessons, lessons)
      if (countLessons(merged) === countLessons(this.lessons)) {
        const [first] = unexplained
        throw explain(this.client.name, first ? [first] : repeated)
      }
      const isOpen = (attempt: Attempt) => isOwed(attempt, next.options.acceptLoss)
      for (const one of repeated.filter(isOpen)) this.owed.push(one)
      const lasting = repeated.filter(attempt => !isOpen(attempt))
      this.#learn(learn(lasting, next.target).lessons)
      this.lessons = merged
      const request = { ...next.options, ...this.#journaled }
      next = await planForTarget(this.#backup, this.client, request, next.target, signal)
    }
  }

  /** What the registry took may be read a little later from another of its nodes. */
  async #awaitLag(found: Survey, signal: AbortSignal): Promise<Survey> {
    let next = found
    for (let attempt = 1; attempt < LAG.attempts; attempt++) {
      const isTaken = (step: RestoreStep) => this.#attemptOf(step)?.error === undefined && this.#attemptOf(step)
      if (!next.plan.steps.some(isTaken)) return next
      await this.#parts.clock.sleep(LAG.delayMs, signal)
      next = await this.#inspect(signal)
    }
    return next
  }

  /**
   * The same write, if it was sent; of settings, if it was the last that was sent for them. A version that the registry
   * took is asked for again in whatever way: under another number, or with other references.
   */
  #attemptOf(step: RestoreStep): Attempt | undefined {
    const attempt = this.attempts.get(attemptKey(step))
    const isTaken = step.type === 'register' && attempt?.error === undefined
    return attempt && (isTaken || JSON.stringify(attempt.step) === JSON.stringify(step)) ? attempt : undefined
  }

  get #journaled(): Journaled {
    const imported = new Set([...this.#survey.options.imported, ...(this.kept?.imported ?? [])])
    return { unfinished: this.kept, imported, lessons: this.lessons }
  }

  #inspect(signal: AbortSignal): Promise<Survey> {
    const reading = this.#asksAllModes
      ? { asksAllModes: true }
      : { before: { target: this.before, touched: this.#touched } }
    return surveyTarget(this.#backup, this.client, this.#survey.options, { ...this.#journaled, ...reading }, signal)
  }

  /** A subject without versions may have a mode that was not asked for: all are, once one refuses a registration. */
  #asksModesAgain(): boolean {
    const refused = [...this.attempts].filter(([, { error }]) => isRefusedByMode(error))
    if (this.#asksAllModes || refused.length === 0 || this.#survey.options.modesNotRead.size === 0) return false
    this.#asksAllModes = true
    for (const [key] of refused) this.attempts.delete(key)
    return true
  }
}

/** Settings are known by the last write to them, versions of the backup by their names, others by the whole write. */
function attemptKey(step: RestoreStep): string {
  if (step.type === 'register' && step.key !== null) return `register ${step.key}`
  const changed = partOf(step)
  return changed ? partKey(changed.scope, changed.part) : JSON.stringify(step)
}

/** Nothing is left to do but what is to come. */
function isAsPlanned({ steps, conflicts }: RegistryPlan, expected: readonly RestoreStep[]): boolean {
  const shown = (some: readonly RestoreStep[]) =>
    some.filter(({ type }) => type !== 'journal' && type !== 'verify').map(step => JSON.stringify(step))
  const awaited = new Set(shown(expected))
  return conflicts.length === 0 && shown(steps).every(step => awaited.has(step))
}
