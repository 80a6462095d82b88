import type { OffsetsSession } from '../../jobs/offsets.ts'
import { activeGroups, expectedOutcome, type OffsetsOutcome, type OffsetsPlan } from '../../offsets/plan-reset.ts'
import type { PlanReport } from '../../offsets/run-plan.ts'
import { formatScript } from '../../offsets/script.ts'
import { type OffsetAction, offsetActions } from '../offsets-table.ts'
import type { OutputStyle } from '../output-style.ts'
import { comparisonFacts, dryRunFacts, planFacts, snapshotFacts } from '../result/offset-facts.ts'
import type { Session } from '../session.ts'
import { plural } from '../text.ts'
import { agrees, refuseDryRunWithYes } from './agree.ts'
import { formatGroups, formatPositions, groupsDocument } from './offsets-groups.ts'
import { placeOf, refuseOthers, selectionOf, snapshotIdOf, usage, withOffsets } from './offsets-place.ts'
import { countChanges, formatOutcome, formatPlan, outcomeDocument, planDocument } from './offsets-plan.ts'
import { requestOf } from './offsets-request.ts'
import {
  comparisonDocument,
  formatComparison,
  formatSnapshots,
  formatTaken,
  lacksKey,
  snapshotsDocument,
} from './offsets-snapshots.ts'

const FAILED = 1
const DIFFERENCE_FOUND = 3
const PARTLY_DONE = 4

type Act = (session: Session, offsets: OffsetsSession) => Promise<number>

export async function run(session: Session): Promise<number> {
  const action = offsetActions.find(one => one === session.options.action)
  if (action === undefined) throw usage(`say what to do: ${offsetActions.join(', ')}`)
  refuseOthers(action, session.options)
  return withOffsets(session, offsets => acts[action](session, offsets))
}

const acts: Record<OffsetAction, Act> = {
  list: async (session, offsets) => {
    const report = await offsets.list(selectionOf(session.options), session.signal)
    session.print(
      () => formatGroups(report, session.style),
      () => groupsDocument(report),
    )
    return report.groups.some(({ error }) => error) ? FAILED : 0
  },
  show: async (session, offsets) => {
    const selection = selectionOf(session.options)
    if (selection.groups.length === 0) throw usage('pass --group')
    const report = await offsets.list(selection, session.signal)
    session.print(
      () => formatPositions(report, session.style),
      () => groupsDocument(report),
    )
    return report.groups.some(({ error }) => error) ? FAILED : 0
  },
  plan: async (session, offsets) => {
    return showPlan(
      session,
      await offsets.plan(await requestOf(session.options, offsets, session.signal), session.signal),
    )
  },
  script: async (session, offsets) => {
    const plan = await offsets.plan(await requestOf(session.options, offsets, session.signal), session.signal)
    const { cluster } = await placeOf(session)
    const bootstrapServers = cluster?.bootstrapServers ?? []
    const script = formatScript(plan, { bootstrapServers, isSecure: cluster?.security !== undefined })
    session.print(
      () => [script.trimEnd()],
      () => ({ ...planDocument(plan), script }),
    )
    return isHopeless(plan) ? FAILED : 0
  },
  reset: async (session, offsets) => {
    const request = await requestOf(session.options, offsets, session.signal)
    return setOffsets(session, offsets, {
      plan: () => offsets.plan(request, session.signal),
      act: () => offsets.reset(request, id => tell(session, id), session.signal),
    })
  },
  rollback: async (session, offsets) => {
    const { group } = session.options
    const id = snapshotIdOf(session.options)
    return setOffsets(session, offsets, {
      plan: () => offsets.planRollback(id, group, session.signal),
      act: () => offsets.rollback(id, group, own => tell(session, own), session.signal),
    })
  },
  snapshot: async (session, offsets) => {
    const snapshot = await offsets.snapshot(session.options.group, session.signal)
    session.outcome.note(snapshotFacts(snapshot))
    session.print(
      () => formatTaken(snapshot, session.style),
      () => snapshot,
    )
    return snapshot.groups.some(({ error }) => error !== undefined) ? PARTLY_DONE : 0
  },
  snapshots: async (session, offsets) => {
    const { path, config } = session.options
    const listed = await offsets.listSnapshots(session.signal)
    session.print(
      () => formatSnapshots(listed, path ?? `the storage of ${config}`, session.style),
      () => snapshotsDocument(listed),
    )
    return listed.some(one => one.error && !lacksKey(one)) ? FAILED : 0
  },
  verify: async (session, offsets) => {
    const id = snapshotIdOf(session.options)
    const comparison = await offsets.verify(id, session.options.strict, session.signal)
    session.outcome.note(comparisonFacts(comparison))
    session.print(
      () => formatComparison(comparison, session.style),
      () => comparisonDocument(comparison),
    )
    return comparison.ok ? 0 : DIFFERENCE_FOUND
  },
  delete: async (session, offsets) => {
    const id = snapshotIdOf(session.options)
    const name = session.options.file ?? id
    const ask = () => session.confirm(`Delete snapshot ${name}? You can no longer roll back to it.`)
    const proposal = { plan: () => [`snapshot ${name}`], ask, nothing: 'nothing was deleted', hasDryRun: false }
    if (!session.options.yes && !(await agrees(session, proposal))) return 0
    await offsets.removeSnapshot(id, session.signal)
    session.print(
      () => [`snapshot ${session.style.bold(name)} is deleted`],
      () => ({ deleted: name }),
    )
    return 0
  },
}

interface Setting {
  plan: () => Promise<OffsetsPlan>
  act: () => Promise<PlanReport>
}

/** Asks for confirmation if the plan changes something. The action itself refuses a plan with active groups, and names them. */
async function setOffsets(session: Session, offsets: OffsetsSession, { plan, act }: Setting): Promise<number> {
  refuseDryRunWithYes(session.options)
  const { dryRun, yes } = session.options
  if (dryRun) return showDryRun(session, await plan())
  if (!yes) {
    const planned = await plan()
    const changes = countChanges(planned)
    const ask = () => session.confirm(`Change ${plural(changes, 'committed offset')}?`)
    const isAsked = changes > 0 && activeGroups(planned).length === 0
    const proposal = { plan: (style: OutputStyle) => formatPlan(planned, style), ask, nothing: 'nothing was changed' }
    if (isAsked && !(await agrees(session, proposal))) return 0
  }
  return showOutcome(session, offsets, await act())
}

function showPlan(session: Session, plan: OffsetsPlan): number {
  session.print(
    () => formatPlan(plan, session.style),
    () => planDocument(plan),
  )
  return isHopeless(plan) ? FAILED : 0
}

/** Ends as the run would that nothing else happens to. */
function showDryRun(session: Session, plan: OffsetsPlan): number {
  session.outcome.note(dryRunFacts(plan))
  showPlan(session, plan)
  return activeGroups(plan).length > 0 ? FAILED : exitCodeOf(plan.groups.map(expectedOutcome))
}

/** No group can be set. A snapshot of a cluster without groups has none to set. */
function isHopeless({ groups }: OffsetsPlan): boolean {
  return groups.length > 0 && groups.every(({ error }) => error)
}

/** Reported before the first offset is changed, so that an interrupted run shows the snapshot to roll back to. */
function tell(session: Session, snapshotId: string): void {
  session.outcome.note({ totals: { snapshot_id: snapshotId } })
  if (session.options.quiet) return
  const text = `the previous offsets are saved as snapshot ${snapshotId}`
  if (!session.tell(() => [text])) session.log.write('warn', text, { snapshot_id: snapshotId })
}

function showOutcome(session: Session, offsets: OffsetsSession, report: PlanReport): number {
  const requests = offsets.requests()
  session.outcome.note(planFacts(report))
  session.print(
    () => formatOutcome(report, session.options.verbose > 0 ? requests : undefined, session.style),
    () => outcomeDocument(report, requests),
  )
  return exitCodeOf(report.groups.map(({ outcome }) => outcome))
}

function exitCodeOf(outcomes: readonly OffsetsOutcome[]): number {
  if (outcomes.length > 0 && outcomes.every(outcome => outcome === 'failed')) return FAILED
  return outcomes.some(outcome => outcome === 'failed' || outcome === 'partly') ? PARTLY_DONE : 0
}
