import type { Happening } from '../kube/event-recorder.ts'
import type { Controller } from '../resource/resource.ts'
import type { ActiveRun, EndedRun, ResourceStatus } from '../resource/status.ts'
import type { Facts } from './facts.ts'
import type { Outcome } from './outcome.ts'

/** Of runs that started, were tried again, or ended. */
export function runEvents(
  { before, controller, isContinuous }: Facts,
  { runs }: Outcome,
  after: ResourceStatus,
): Happening[] {
  const told = new Set([...(before.active ?? []), ...(before.history ?? [])].map(({ run }) => run))
  const over = new Set(before.history?.map(({ run }) => run))
  const ended = (after.history ?? []).filter(({ run }) => !over.has(run)).toReversed()
  const started = (after.active ?? []).filter(({ run }) => !told.has(run))
  const going = runs.live.filter(({ purpose, run }) => purpose === 'main' && told.has(run))
  return [
    ...ended.flatMap(run => endEvents(controller, run, isContinuous)),
    ...started.map(run => startEvent(controller, run)),
    ...(going.length > 0 ? retryEvents(controller, before, after) : []),
  ]
}

function startEvent(controller: Controller, run: ActiveRun): Happening {
  const verb = verbOf(controller, run)
  return event('Normal', `${verb}Started`, verb, `The Job ${run.job} was made for the run ${run.run}.`)
}

/** A removal that failed is told with the way out, which the status has. */
function endEvents(controller: Controller, run: EndedRun, isContinuous: boolean): Happening[] {
  if (run.purpose === 'delete' && run.phase === 'Failed') return []
  const verb = verbOf(controller, run)
  const { gaps = 0 } = run
  const gapNote = `The run ${run.run} met ${gaps} gaps: records that were gone before they could be read.`
  return [
    ...(gaps > 0 ? [event('Warning', 'GapFound', verb, gapNote)] : []),
    event(run.phase === 'Failed' ? 'Warning' : 'Normal', endReason(verb, run, isContinuous), verb, endNote(run)),
  ]
}

function endReason(verb: string, { phase, reason, purpose }: EndedRun, isContinuous: boolean): string {
  if (phase === 'Failed' && isContinuous && purpose === 'main') return `${verb}Stalled`
  if (phase === 'Completed') return reason === 'Stopped' ? `${verb}Stopped` : `${verb}Completed`
  return reason === 'Partial' ? `${verb}Partial` : `${verb}Failed`
}

function endNote({ run, phase, reason, message, ...totals }: EndedRun): string {
  const counts = (['records', 'bytes', 'groups'] as const)
    .filter(name => totals[name] !== undefined)
    .map(name => `${totals[name]} ${name}`)
  const done = counts.length > 0 ? `, ${counts.join(', ')}` : ''
  if (phase === 'Completed') return `The run ${run} is complete${done}.${message === undefined ? '' : ` ${message}`}`
  return `The run ${run} failed${done}: ${[reason, message].filter(part => part !== undefined).join(': ')}`
}

/** The message begins with the number of pods that failed; one more is news. */
function retryEvents(controller: Controller, before: ResourceStatus, after: ResourceStatus): Happening[] {
  if (after.reason !== 'Retrying' || failuresOf(after) <= failuresOf(before)) return []
  const verb = verbOf(controller, { purpose: 'main' })
  return [event('Warning', `${verb}Retried`, verb, after.message ?? '')]
}

function failuresOf({ reason, message = '' }: ResourceStatus): number {
  return reason === 'Retrying' ? Number.parseInt(message, 10) || 0 : 0
}

function verbOf(controller: Controller, { purpose }: Pick<ActiveRun, 'purpose'>): string {
  if (purpose === 'verify') return 'Verify'
  return purpose === 'delete' ? 'Delete' : verbs[controller]
}

const verbs = {
  backup: 'Backup',
  restore: 'Restore',
  offset_reset: 'OffsetReset',
  offset_rollback: 'OffsetRollback',
} as const

function event(type: Happening['type'], reason: string, action: string, note: string): Happening {
  return { type, reason, action, note }
}
