import { versionKey } from '../registry/model.ts'
import { describeScope } from '../registry/plan/describe-step.ts'
import type { RestoreStep } from '../registry/plan/restore-step.ts'
import { FILLER_NAME } from '../registry/plan/target-index.ts'
import { IdsIgnored, ModeRefused } from '../registry/write/refusals.ts'
import type { RestoreRun } from './carry-out.ts'
import type { SchemaParts } from './restore-schemas.ts'
import { listUnsettled, partKey, partOf, removeFillers, settle, type Unsettled } from './settle.ts'

/** How long a run that was told to stop may take to put levels and modes back. */
const CLEAR_UP_MS = 30_000

/**
 * After a failure or an abort: levels and modes that were changed for the time are put back, and fillers are removed. What
 * cannot be is reported; the journal stays open, so that the next run does it.
 */
export async function clearUp(
  cause: unknown,
  run: RestoreRun,
  { journal, onProgress, clock }: SchemaParts,
  signal: AbortSignal,
): Promise<void> {
  if (cause instanceof IdsIgnored && run.done === 0) {
    await takeBack(cause.step.subject, run, signal)
    await journal.close(signal)
    return
  }
  if (cause instanceof ModeRefused && run.answered.size === 0) return journal.close(signal)
  const { kept } = run
  if (!kept || !run.isTouched) return
  const pending = new Set<string>(run.liftedParts)
  for (const step of run.steps) {
    const changed = run.answered.has(step) ? undefined : partOf(step)
    if (changed) pending.add(partKey(changed.scope, changed.part))
  }
  const unsettled = listUnsettled(kept, run.before, run.begunParts, pending)
  const fillers = listFillers(run)
  if (unsettled.length + fillers.length === 0) return
  const stop = new AbortController()
  const cancel = clock.after(CLEAR_UP_MS, () => stop.abort(new Error('the time to clear up is over')))
  const width = run.client.concurrency
  const open = await settle(unsettled, run.writer, width, stop.signal)
  const left = await removeFillers(fillers, run.writer, width, stop.signal)
  cancel()
  onProgress({ type: 'warning', message: tell(open, left) })
}

/** Those of this run and of earlier ones that may still be there. */
function listFillers({ kept, before, steps, answered }: RestoreRun): { subject: string; version: number }[] {
  const own = new Set(kept?.fillers)
  const removed = new Set<string>()
  const places = new Map<string, { subject: string; version: number }>()
  const note = ({ subject, version }: { subject: string; version: number }) =>
    places.set(versionKey(subject, version), { subject, version })
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

function keyOf({ subject, version }: { subject: string; version: number }): string {
  return versionKey(subject, version)
}

function tell(open: readonly Unsettled[], fillers: readonly { subject: string; version: number }[]): string {
  const again = 'run the same command again, which continues where it stopped'
  const names = [
    ...open.map(({ scope }) => `the level or mode of ${describeScope(scope)}`),
    ...fillers.map(({ subject, version }) => `version ${version} of subject ${subject}, a filler`),
  ]
  if (names.length === 0)
    return `the restore of schemas did not end; levels and modes are as they were before it: ${again}`
  const more = names.length > 5 ? ` and ${names.length - 5} more` : ''
  return (
    `the restore of schemas did not end, and could not put back ${names.slice(0, 5).join(', ')}${more}, which may still be ` +
    `those of the restore: ${again} and restores them`
  )
}

/** Removes the one version that was registered, and gives the settings back as they were. */
async function takeBack(subject: string, run: RestoreRun, signal: AbortSignal): Promise<void> {
  const { before, writer, kept } = run
  const there = new Set(before.versions.filter(one => one.subject === subject).map(({ version }) => version))
  const made = (await writer.versionsOf(subject, signal)).filter(version => !there.has(version))
  for (const version of made) await writer.deleteVersion(subject, version, true, signal)
  const all = (kept?.settings ?? []).map(({ scope, ...original }) => ({ scope, original, config: true, mode: true }))
  await settle(all, writer, 1, signal)
}
