import type { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { runPool } from '../../lib/pool.ts'
import { RegistryError } from '../client/registry-error.ts'
import { type Deletion, deleteInOrder, isDeletion, type ReferenceIndex } from './delete-in-order.ts'
import type { ContractPart, Lift, RegisterStep, RestoreJournal, RestoreStep, Scope } from './plan/restore-step.ts'
import {
  IdsIgnored,
  isIncompatible,
  ModeRefused,
  otherId,
  RefusalJudge,
  registerInOrder,
  registerSchema,
} from './registration.ts'
import type { RegistryWriter } from './registry-writer.ts'

interface StepParts {
  writer: RegistryWriter
  clock: Clock
  /** Writes under way at a time. */
  concurrency: number
  /** What versions refer to: a version is deleted after those that refer to it. */
  references: ReferenceIndex
  /** Resolves when the journal is durable. */
  keepJournal: (journal: RestoreJournal) => Promise<void>
  /** Called before the first registration that asks for an ID; fails where others have registered versions since the plan. */
  confirmUnchanged: () => Promise<void>
  /** Compares the registry with the plan, of which these steps are still to come. False: the rest waits for another plan. */
  verify: (rest: readonly RestoreStep[]) => Promise<boolean>
  /** Before a step is begun: from now on it may have taken effect. */
  onBegun: (step: RestoreStep) => void
  /** After a write that the registry took or refused; `answeredId` is that of a registration. */
  onAnswered: (step: RestoreStep, answer: { error?: KafkaBackupError; answeredId?: number }) => void
  /** The level of a subject was lifted, or is its own again. */
  onLifted: (subject: string, isLifted: boolean) => void
  /** Parts that it is not known of whether the registry keeps them. */
  unproven: Set<ContractPart>
}

/** The registry took a schema, and dropped a part of it: those to come are planned without. */
export class PartsDropped extends Error {
  readonly dropped: readonly ContractPart[]

  constructor(dropped: readonly ContractPart[]) {
    super(`the registry drops ${dropped.join(' and ')}`)
    this.dropped = dropped
  }
}

/**
 * Carries a plan out. Registrations that follow one another run side by side as far as they do not need each other, and so
 * do deletions, and settings of different subjects. What the registry refuses is answered for and left out, with what needs it; anything
 * else ends the run.
 */
export async function runSteps(steps: readonly RestoreStep[], parts: StepParts, signal: AbortSignal): Promise<void> {
  await new StepRun(parts, signal).run(steps)
}

class StepRun {
  readonly #parts: StepParts
  readonly #signal: AbortSignal
  readonly #judge = new RefusalJudge()
  /** Subjects with a version that could not be removed: its replacement has to wait. */
  readonly #occupied = new Set<string>()
  #isTouched = false
  #isFirst = true

  constructor(parts: StepParts, signal: AbortSignal) {
    this.#parts = parts
    this.#signal = signal
  }

  async run(steps: readonly RestoreStep[]): Promise<void> {
    for (let at = 0; at < steps.length; ) {
      this.#signal.throwIfAborted()
      const row = registrationsFrom(steps, at)
      if (row.length > 0) {
        // The first registration shows whether a registry respects IDs, before there are others to undo.
        const isTrial = this.#isFirst && row[0]?.id !== null
        if (isTrial) await this.#parts.confirmUnchanged()
        const alone = isTrial ? 1 : row.length
        const free = row.slice(0, alone).filter(({ subject }) => !this.#occupied.has(subject))
        await this.#registerRow(free)
        this.#isFirst = false
        at += alone
        continue
      }
      const deletions = this.#deletionsFrom(steps, at)
      if (deletions.length > 0) {
        const { concurrency, references } = this.#parts
        await deleteInOrder(deletions, concurrency, references, step => this.#write(step))
        at += deletions.length
        continue
      }
      const settings = subjectSettingsFrom(steps, at)
      if (settings.length > 0) {
        const bySubject = Map.groupBy(settings, ({ scope }) => JSON.stringify(scope))
        await runPool(bySubject.values(), this.#parts.concurrency, async some => {
          for (const step of some) await this.#write(step)
        })
        at += settings.length
        continue
      }
      const step = steps[at++]
      if (!step || step.type === 'register') continue
      if (step.type === 'journal') await this.#parts.keepJournal(step.journal)
      else if (step.type !== 'verify') await this.#write(step)
      else if (!(await this.#parts.verify(steps.slice(at)))) return
    }
  }

  /** The first write of a run is made alone: until one has succeeded, a refusal may be that of the whole registry. */
  #deletionsFrom(steps: readonly RestoreStep[], start: number): Deletion[] {
    const row = deletionsFrom(steps, start)
    return this.#isTouched ? row : row.slice(0, 1)
  }

  /** Subjects whose level had to be lifted have their own again afterwards. After a failure the caller restores them. */
  async #registerRow(row: readonly RegisterStep[]): Promise<void> {
    const lifted = new Map<string, Lift>()
    await registerInOrder(row, this.#parts.concurrency, step => this.#register(step, lifted))
    await runPool(lifted, this.#parts.concurrency, async ([subject, { after }]) => {
      const { compatibility, config } = after
      const scope: Scope = { kind: 'subject', subject }
      const isUnset = compatibility === null && config === null
      const step: SettingsStep = isUnset
        ? { type: 'delete-config', scope }
        : { type: 'set-config', scope, compatibility, config, clears: compatibility === null }
      await this.#write(step)
      this.#parts.onLifted(subject, false)
    })
  }

  /** Where the registry calls it incompatible, once more under a lifted level. */
  async #send(step: RegisterStep, lifted: Map<string, Lift>): Promise<number> {
    const { writer, clock, onLifted } = this.#parts
    const { subject, lift } = step
    return registerSchema(writer, step, clock, this.#signal).catch(async error => {
      if (lift === null || lifted.has(subject) || !isIncompatible(error)) throw error
      lifted.set(subject, lift)
      onLifted(subject, true)
      await writer.setConfig({ kind: 'subject', subject }, { ...lift.during, clears: false }, this.#signal)
      return registerSchema(writer, step, clock, this.#signal)
    })
  }

  async #register(step: RegisterStep, lifted: Map<string, Lift>): Promise<boolean> {
    const { onBegun, onAnswered } = this.#parts
    const isFirst = this.#isFirst
    let answeredId: number
    onBegun(step)
    try {
      answeredId = await this.#send(step, lifted)
      if (step.id !== null && answeredId !== step.id)
        throw isFirst ? new IdsIgnored(step, answeredId) : otherId(step, answeredId)
      this.#succeeded()
      onAnswered(step, { answeredId })
    } catch (error) {
      if (error instanceof IdsIgnored || !this.#judge.isRefusal(error)) throw error
      onAnswered(step, { error })
      return false
    }
    await this.#proveParts(step, answeredId)
    return true
  }

  /** Once for each part: what the first schema that has one is read back without is dropped from all. */
  async #proveParts({ subject, version, metadata, ruleSet }: RegisterStep, answeredId: number): Promise<void> {
    const { writer, unproven } = this.#parts
    const sent = { metadata, ruleSet }
    const open = [...unproven].filter(part => sent[part] !== null)
    if (open.length === 0) return
    for (const part of open) unproven.delete(part)
    const held = await writer.read(subject, version, this.#signal)
    // Another writer may have been given the number: that one shows nothing.
    const isOwn = held?.id === answeredId
    if (!isOwn) for (const part of open) unproven.add(part)
    const dropped = isOwn ? open.filter(part => held[part] === undefined || held[part] === null) : []
    if (dropped.length > 0) throw new PartsDropped(dropped)
  }

  async #write(step: Exclude<RestoreStep, RegisterStep | { type: 'journal' | 'verify' }>): Promise<void> {
    this.#parts.onBegun(step)
    try {
      await send(step, this.#parts.writer, this.#signal)
      this.#succeeded()
      this.#parts.onAnswered(step, {})
    } catch (thrown) {
      const error = explainMode(step, thrown)
      const isVital = error instanceof ModeRefused && (!this.#isTouched || isImport(step))
      if (isVital || !this.#judge.isRefusal(error)) throw error
      if (step.type === 'delete-subject' || (step.type === 'delete-version' && step.permanent)) {
        this.#occupied.add(step.subject)
      }
      this.#parts.onAnswered(step, { error })
    }
  }

  #succeeded(): void {
    this.#isTouched = true
    this.#judge.succeeded()
  }
}

type SettingsStep = Extract<RestoreStep, { scope: unknown }>

/** Of single subjects: those of a context or of the registry count for others, and are set alone. */
function subjectSettingsFrom(steps: readonly RestoreStep[], start: number): SettingsStep[] {
  const row: SettingsStep[] = []
  for (let at = start; ; at++) {
    const step = steps[at]
    if (!step || !('scope' in step) || step.scope.kind !== 'subject') return row
    row.push(step)
  }
}

function registrationsFrom(steps: readonly RestoreStep[], start: number): RegisterStep[] {
  const row: RegisterStep[] = []
  for (let at = start; ; at++) {
    const step = steps[at]
    if (step?.type !== 'register') return row
    row.push(step)
  }
}

function deletionsFrom(steps: readonly RestoreStep[], start: number): Deletion[] {
  const row: Deletion[] = []
  for (let at = start; ; at++) {
    const step = steps[at]
    if (!isDeletion(step)) return row
    row.push(step)
  }
}

/** One write; registrations have their own way. */
async function send(
  step: Exclude<RestoreStep, RegisterStep | { type: 'journal' | 'verify' }>,
  writer: RegistryWriter,
  signal: AbortSignal,
): Promise<void> {
  switch (step.type) {
    case 'set-mode':
      return writer.setMode(step.scope, step.mode, step.force, signal)
    case 'delete-mode':
      return writer.deleteMode(step.scope, signal)
    case 'set-config':
      return writer.setConfig(step.scope, step, signal)
    case 'delete-config':
      return writer.deleteConfig(step.scope, signal)
    case 'delete-version':
      return writer.deleteVersion(step.subject, step.version, step.permanent, signal)
    case 'delete-subject':
      return writer.deleteSubject(step.subject, signal)
    default:
      return step satisfies never
  }
}

/** 404 and 405 are those of a registry that has no modes to set. */
function explainMode(step: RestoreStep, error: unknown): unknown {
  const isRefused = error instanceof RegistryError && [404, 405, 422].includes(error.status)
  return step.type === 'set-mode' && isRefused ? new ModeRefused(step.scope, step.mode, error) : error
}

function isImport(step: RestoreStep): boolean {
  return step.type === 'set-mode' && step.mode === 'IMPORT'
}
