import type { RegistryHold } from '../../archive/registry-lease.ts'
import { type RegistrySettings, type RegistrySnapshot, versionKey } from '../../archive/registry-model.ts'
import type { Clock } from '../../lib/clock.ts'
import { runPool } from '../../lib/pool.ts'
import type { OnProgress } from '../../observe/progress.ts'
import type { JournalBook } from './journal.ts'
import { describeScope } from './plan/messages.ts'
import { settingsOf } from './plan/planned-settings.ts'
import type { RestoreJournal, RestoreStep, Scope } from './plan/restore-step.ts'
import { isSame } from './plan/same-schema.ts'
import { FILLER_NAME } from './plan/target-index.ts'
import { IdsIgnored, ModeRefused } from './registration.ts'
import type { RegistryWriter } from './registry-writer.ts'

/** How long a run that was told to stop may take to put levels and modes back. */
const CLEAR_UP_MS = 30_000

/** What a run that did not end has done so far. */
export interface FailedRun {
  readonly writer: RegistryWriter
  readonly client: { readonly concurrency: number }
  /** The registry as it was before the run. */
  readonly before: RegistrySnapshot
  /** The last journal that is durable. */
  readonly kept: RestoreJournal | undefined
  /** The steps of the present round, and those of them that the registry took. */
  readonly steps: readonly RestoreStep[]
  readonly answered: ReadonlySet<RestoreStep>
  /** Versions of the backup that were registered. */
  readonly done: number
  /** Something may have been changed. */
  readonly isTouched: boolean
  /** The registry has answered to a write, in any round. */
  readonly hasWritten: boolean
  /** Parts of settings that were changed, by `partKey`. */
  readonly begunParts: ReadonlySet<string>
  /** Those that no step of the plan has changed, and that are not restored yet. */
  readonly liftedParts: ReadonlySet<string>
}

interface ClearUpParts {
  journal: Pick<JournalBook, 'withdraw' | 'close'>
  hold?: Pick<RegistryHold, 'assertHeld'>
  clock: Clock
  onProgress: OnProgress
}

/**
 * After a failure or an abort: levels and modes that were changed for the time are put back, and fillers are removed. What
 * cannot be is reported; the journal stays open, so that the next run does it. It throws nothing: the cause is what counts.
 */
export async function clearUp(cause: unknown, run: FailedRun, parts: ClearUpParts): Promise<void> {
  const { journal, onProgress, clock } = parts
  const isUnchanged = cause instanceof ModeRefused && !run.hasWritten
  const left = isUnchanged ? undefined : listLeft(cause, run)
  if (left && isLost(parts)) return onProgress({ type: 'warning', message: lostHold })
  const stop = new AbortController()
  const cancel = clock.after(CLEAR_UP_MS, () => stop.abort(new Error('the time to clear up is over')))
  try {
    if (isUnchanged) await journal.withdraw(stop.signal).catch(() => undefined)
    if (!left) return
    const names = await putBack(left, run, stop.signal)
    if (left.isUndone && names.length === 0) await journal.close(stop.signal).catch(() => undefined)
    else onProgress({ type: 'warning', message: tell(names) })
  } finally {
    cancel()
  }
}

interface Place {
  subject: string
  version: number
}

interface Left {
  unsettled: readonly Unsettled[]
  fillers: readonly Place[]
  /** Its first version was registered, and goes again. */
  subject?: string
  /** After it the registry is as it was before the run, and nothing is left to continue. */
  isUndone: boolean
}

/** Pure. Undefined where nothing was changed, or nothing that is not to stay. */
function listLeft(cause: unknown, run: FailedRun): Left | undefined {
  const { kept } = run
  if (cause instanceof IdsIgnored && run.done === 0) {
    const unsettled = (kept?.settings ?? []).map(({ scope, ...original }) => ({
      ...{ scope, original },
      ...{ config: true, mode: true },
    }))
    return { unsettled, fillers: [], subject: cause.step.subject, isUndone: true }
  }
  if (!kept || !run.isTouched) return undefined
  const pending = new Set<string>(run.liftedParts)
  for (const step of run.steps) {
    const changed = run.answered.has(step) ? undefined : partOf(step)
    if (changed) pending.add(partKey(changed.scope, changed.part))
  }
  const unsettled = listUnsettled(kept, run.before, run.begunParts, pending)
  const fillers = listFillers(run)
  return unsettled.length + fillers.length === 0 ? undefined : { unsettled, fillers, isUndone: false }
}

/** Answers with what could not be put back or removed. */
async function putBack({ unsettled, fillers, subject }: Left, run: FailedRun, signal: AbortSignal): Promise<string[]> {
  const { writer, client } = run
  const made = subject === undefined ? [] : await removeMade(subject, run, signal)
  const open = await settle(unsettled, writer, client.concurrency, signal)
  const kept = await removeFillers(fillers, writer, client.concurrency, signal)
  return [
    ...made.map(one => `version ${one.version} of subject ${one.subject}, which has to be deleted by hand`),
    ...open.map(({ scope }) => `the level or mode of ${describeScope(scope)}`),
    ...kept.map(one => `version ${one.version} of subject ${one.subject}, a filler`),
  ]
}

function isLost({ hold }: ClearUpParts): boolean {
  try {
    hold?.assertHeld()
    return false
  } catch {
    return true
  }
}

const lostHold =
  'the restore of schemas did not complete. Levels and modes are left as they are, because another restore may be writing to the ' +
  'registry: when that one has ended, run the same command again, which puts them back'

/** Those of this run and of earlier ones that may still be there. */
function listFillers({ kept, before, steps, answered }: FailedRun): Place[] {
  const own = new Set(kept?.fillers)
  const removed = new Set<string>()
  const places = new Map<string, Place>()
  const note = ({ subject, version }: Place) => places.set(versionKey(subject, version), { subject, version })
  for (const one of before.versions) if (one.schema.includes(FILLER_NAME) && own.has(keyOf(one))) note(one)
  for (const step of steps) {
    if (step.type === 'register' && step.purpose === 'filler') note(step)
    if (isRemoval(step) && answered.has(step)) removed.add(keyOf(step))
  }
  return [...places].filter(([key]) => !removed.has(key)).map(([, place]) => place)
}

function isRemoval(step: RestoreStep): step is Extract<RestoreStep, { type: 'delete-version' }> {
  return step.type === 'delete-version' && step.permanent
}

function keyOf({ subject, version }: Place): string {
  return versionKey(subject, version)
}

function tell(names: readonly string[]): string {
  const again = 'run the same command again'
  if (names.length === 0)
    return `the restore of schemas did not complete; levels and modes are as they were before it: ${again} to continue where it stopped`
  const more = names.length > 5 ? ` and ${names.length - 5} more` : ''
  return (
    `the restore of schemas did not complete, and could not put back ${names.slice(0, 5).join(', ')}${more}: ` +
    `${again}; it continues where it stopped and puts levels and modes back`
  )
}

/** Removes the one version that was registered under another ID. Answers with it where that fails. */
async function removeMade(subject: string, { before, writer }: FailedRun, signal: AbortSignal): Promise<Place[]> {
  const there = new Set(before.versions.filter(one => one.subject === subject).map(({ version }) => version))
  let made = [1]
  try {
    made = (await writer.versionsOf(subject, signal)).filter(version => !there.has(version))
    for (const version of made) await writer.deleteVersion(subject, version, true, signal)
    return []
  } catch {
    return made.map(version => ({ subject, version }))
  }
}

/** Settings that a run that did not end has changed for the time, and what they were. */
interface Unsettled {
  scope: Scope
  original: RegistrySettings
  config: boolean
  mode: boolean
}

type SettingPart = 'config' | 'mode'

/** The part of the settings that a step changes; undefined for other steps. */
export function partOf(step: RestoreStep): { scope: Scope; part: SettingPart } | undefined {
  switch (step.type) {
    case 'set-config':
    case 'delete-config':
      return { scope: step.scope, part: 'config' }
    case 'set-mode':
    case 'delete-mode':
      return { scope: step.scope, part: 'mode' }
    default:
      return undefined
  }
}

export function partKey(scope: Scope, part: SettingPart): string {
  return `${part} ${JSON.stringify(scope)}`
}

/**
 * Pure. What is to be put back: `begun` are the parts that this run has changed, `pending` those that its plan would have
 * brought to their last value. `before` shows what an earlier run has left.
 */
function listUnsettled(
  { settings }: RestoreJournal,
  before: RegistrySnapshot,
  begun: ReadonlySet<string>,
  pending: ReadonlySet<string>,
): Unsettled[] {
  return settings.flatMap(({ scope, ...original }) => {
    const found = settingsOf(before, scope)
    const isOpen = (part: SettingPart, isChanged: boolean) =>
      pending.has(partKey(scope, part)) && (isChanged || begun.has(partKey(scope, part)))
    const configOf = ({ compatibility, config }: RegistrySettings) => ({ compatibility, config })
    const config = isOpen('config', !isSame(configOf(found), configOf(original)))
    const mode = isOpen('mode', found.mode !== original.mode)
    return config || mode ? [{ scope, original, config, mode }] : []
  })
}

/** Puts settings back as they were. Answers with those that could not be, after the first that fails. */
async function settle(
  unsettled: readonly Unsettled[],
  writer: RegistryWriter,
  width: number,
  signal: AbortSignal,
): Promise<Unsettled[]> {
  const left = new Set(unsettled)
  await runPool(unsettled, width, async one => {
    const { scope, original, config, mode } = one
    if (config && original.compatibility === null && original.config === null) await writer.deleteConfig(scope, signal)
    else if (config) await writer.setConfig(scope, { ...original, clears: true }, signal)
    if (mode && original.mode === null && scope.kind !== 'global') await writer.deleteMode(scope, signal)
    else if (mode) await writer.setMode(scope, original.mode ?? 'READWRITE', true, signal)
    left.delete(one)
  }).catch(() => undefined)
  return [...left]
}

/** Removes what took numbers for the time, and nothing that is not such a filler. Answers with those that could not be. */
async function removeFillers(
  fillers: readonly { subject: string; version: number }[],
  writer: RegistryWriter,
  width: number,
  signal: AbortSignal,
): Promise<{ subject: string; version: number }[]> {
  const left = new Set(fillers)
  await runPool(fillers, width, async one => {
    const held = await writer.read(one.subject, one.version, signal)
    if (String(held?.schema).includes(FILLER_NAME)) {
      await writer.deleteVersion(one.subject, one.version, true, signal)
    }
    left.delete(one)
  }).catch(() => undefined)
  return [...left]
}
