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

/** How long an aborted run may take to restore levels and modes. */
const CLEAR_UP_MS = 30_000

/** The state of a run that failed or was aborted. */
export interface FailedRun {
  readonly writer: RegistryWriter
  readonly client: { readonly concurrency: number }
  /** The registry before the run. */
  readonly before: RegistrySnapshot
  /** The last journal that is durable. */
  readonly kept: RestoreJournal | undefined
  /** The steps of the current round, and those of them that the registry accepted. */
  readonly steps: readonly RestoreStep[]
  readonly answered: ReadonlySet<RestoreStep>
  /** Versions of the backup that were registered. */
  readonly done: number
  /** A write was sent. */
  readonly isTouched: boolean
  /** The registry has answered a write, in any round. */
  readonly hasWritten: boolean
  /** Parts of settings that were changed, by `partKey`. */
  readonly begunParts: ReadonlySet<string>
  /** Those that were changed outside the steps of the plan, and are not restored yet. */
  readonly liftedParts: ReadonlySet<string>
}

interface ClearUpParts {
  journal: Pick<JournalBook, 'withdraw' | 'close'>
  hold?: Pick<RegistryHold, 'assertHeld'>
  clock: Clock
  onProgress: OnProgress
}

/**
 * After a failure or an abort: restores the levels and modes that the run changed temporarily, and removes fillers. Each
 * failure is a warning, and does not keep the others from being tried; the journal then stays open for the next run. Never
 * throws, because the cause of the failure is what the caller reports.
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
    const failures = await undo(left, run, stop.signal)
    for (const { what, reason } of failures) {
      onProgress({ type: 'warning', message: `could not ${what}: ${reason}` })
    }
    if (left.isUndone && failures.length === 0) await journal.close(stop.signal).catch(() => undefined)
    else onProgress({ type: 'warning', message: summarize(failures) })
  } finally {
    cancel()
  }
}

interface VersionPlace {
  subject: string
  version: number
}

interface Left {
  unsettled: readonly Unsettled[]
  fillers: readonly VersionPlace[]
  /** Its first version was registered, and is removed again. */
  subject?: string
  /** Afterwards the registry is as it was before the run, and there is nothing to resume. */
  isUndone: boolean
}

/** Settings that an unfinished run has changed temporarily, and their previous values. */
interface Unsettled {
  scope: Scope
  original: RegistrySettings
  config: boolean
  mode: boolean
}

/** What could not be undone, as an infinitive: `restore the mode of subject a`. */
interface UndoFailure {
  what: string
  reason: string
}

/** Pure. Undefined where nothing was changed, or every change is meant to stay. */
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

/**
 * Pure. The settings to restore: `begun` are the parts that this run has changed, `pending` those that its plan has not
 * brought to their final value. `before` shows what an earlier run has left.
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

/** Fillers of this run and of earlier ones that may still exist. */
function listFillers({ kept, before, steps, answered }: FailedRun): VersionPlace[] {
  const own = new Set(kept?.fillers)
  const removed = new Set<string>()
  const places = new Map<string, VersionPlace>()
  const note = ({ subject, version }: VersionPlace) => places.set(versionKey(subject, version), { subject, version })
  for (const one of before.versions) if (one.schema.includes(FILLER_NAME) && own.has(keyOf(one))) note(one)
  for (const step of steps) {
    if (step.type === 'register' && step.purpose === 'filler') note(step)
    if (step.type === 'delete-version' && step.permanent && answered.has(step)) removed.add(keyOf(step))
  }
  return [...places].filter(([key]) => !removed.has(key)).map(([, place]) => place)
}

function keyOf({ subject, version }: VersionPlace): string {
  return versionKey(subject, version)
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
  'registry: when that one has ended, run the same command again, which restores them'

function summarize(failures: readonly UndoFailure[]): string {
  const again = 'run the same command again'
  if (failures.length === 0)
    return `the restore of schemas did not complete; levels and modes are as they were before it: ${again} to continue where it stopped`
  const count = failures.length === 1 ? '1 change' : `${failures.length} changes`
  return (
    `the restore of schemas did not complete, and ${count} could not be undone: ` +
    `${again}; it continues where it stopped and restores levels and modes`
  )
}

/** Tries everything, and returns what failed. */
async function undo({ unsettled, fillers, subject }: Left, run: FailedRun, signal: AbortSignal) {
  const { writer, client } = run
  const first = subject === undefined ? [] : await removeRegistered(subject, run, signal)
  const settings = await runPool(unsettled, client.concurrency, one => settle(one, writer, signal))
  const removals = await runPool(fillers, client.concurrency, one => removeFiller(one, writer, signal))
  return [...first, ...settings.flat(), ...removals.flat()]
}

/** Restores a level and a mode; one that fails does not keep the other from being tried. */
async function settle({ scope, original, config, mode }: Unsettled, writer: RegistryWriter, signal: AbortSignal) {
  const { compatibility, mode: previous } = original
  const isUnset = compatibility === null && original.config === null
  const restoreConfig = () =>
    isUnset ? writer.deleteConfig(scope, signal) : writer.setConfig(scope, { ...original, clears: true }, signal)
  const restoreMode = () =>
    previous === null && scope.kind !== 'global'
      ? writer.deleteMode(scope, signal)
      : writer.setMode(scope, previous ?? 'READWRITE', true, signal)
  const name = describeScope(scope)
  return [
    ...(config ? await attempt(`restore the level of ${name}`, restoreConfig) : []),
    ...(mode ? await attempt(`restore the mode of ${name}`, restoreMode) : []),
  ]
}

/** Removes a version only if it is a filler. */
function removeFiller({ subject, version }: VersionPlace, writer: RegistryWriter, signal: AbortSignal) {
  return attempt(`remove version ${version} of subject ${subject}, a filler`, async () => {
    const held = await writer.read(subject, version, signal)
    if (String(held?.schema).includes(FILLER_NAME)) await writer.deleteVersion(subject, version, true, signal)
  })
}

/** Removes the one version that was registered under another ID. */
async function removeRegistered(subject: string, { before, writer }: FailedRun, signal: AbortSignal) {
  const existing = new Set(before.versions.filter(one => one.subject === subject).map(({ version }) => version))
  const registered: number[] = []
  const failures = await attempt(`find the new version of subject ${subject}, to be deleted by hand`, async () => {
    registered.push(...(await writer.versionsOf(subject, signal)).filter(version => !existing.has(version)))
  })
  for (const version of registered) {
    const what = `remove version ${version} of subject ${subject}, to be deleted by hand`
    failures.push(...(await attempt(what, () => writer.deleteVersion(subject, version, true, signal))))
  }
  return failures
}

async function attempt(what: string, work: () => Promise<void>): Promise<UndoFailure[]> {
  try {
    await work()
    return []
  } catch (error) {
    return [{ what, reason: error instanceof Error ? error.message : String(error) }]
  }
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
