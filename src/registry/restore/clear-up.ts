import { versionKey } from '../../archive/registry-model.ts'
import type { RestoreRun } from './carry-out.ts'
import { describeScope } from './plan/describe-step.ts'
import type { RestoreStep } from './plan/restore-step.ts'
import { FILLER_NAME } from './plan/target-index.ts'
import type { SchemaParts } from './restore-schemas.ts'
import { listUnsettled, partKey, partOf, removeFillers, settle, type Unsettled } from './settle.ts'
import { IdsIgnored, ModeRefused } from './write/refusals.ts'

/** How long a run that was told to stop may take to put levels and modes back. */
const CLEAR_UP_MS = 30_000

/**
 * After a failure or an abort: levels and modes that were changed for the time are put back, and fillers are removed. What
 * cannot be is reported; the journal stays open, so that the next run does it. It throws nothing: the cause is what counts.
 */
export async function clearUp(cause: unknown, run: RestoreRun, parts: SchemaParts): Promise<void> {
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
function listLeft(cause: unknown, run: RestoreRun): Left | undefined {
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
async function putBack({ unsettled, fillers, subject }: Left, run: RestoreRun, signal: AbortSignal): Promise<string[]> {
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

function isLost({ hold }: SchemaParts): boolean {
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
function listFillers({ kept, before, steps, answered }: RestoreRun): Place[] {
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
async function removeMade(subject: string, { before, writer }: RestoreRun, signal: AbortSignal): Promise<Place[]> {
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
