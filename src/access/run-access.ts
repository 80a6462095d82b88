import { KafkaBackupError } from '../errors.ts'
import { createAcls } from '../kafka/acls.ts'
import { listQuotas, setQuotas } from '../kafka/client-quotas.ts'
import type { Cluster } from '../kafka/cluster.ts'
import {
  type AccessPlan,
  type AccessReport,
  countBy,
  type KindPlan,
  type KindReport,
  type Planned,
  sumAccess,
} from './access-plan.ts'
import { type Acl, describeAcl, type Quota } from './model.ts'
import { planQuotas } from './plan-access.ts'
import { isLimitedBy } from './plan-acls.ts'

type Errors = (KafkaBackupError | undefined)[]

/** Creates the rules of the plan. A refused rule is reported and does not stop the rest. */
export async function runAccess(
  { acls, quotas, users }: AccessPlan,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<AccessReport> {
  const report = {
    ...(acls && { acls: await makeAcls(acls, some => createAcls(cluster, some, signal), signal) }),
    ...(quotas && { quotas: await makeQuotas(quotas, quotaCalls(cluster, signal), signal) }),
    ...(users && { users: await make(users, async () => [], signal) }),
  }
  return { ...report, totals: sumAccess(report) }
}

/** Of a restore that has not come to access rules; the reason says why. */
export function skippedAccess(reason: string): AccessReport {
  return { totals: sumAccess({}), reason }
}

interface QuotaCalls {
  list: () => Promise<Quota[]>
  set: (quotas: Quota[]) => Promise<Errors>
}

function quotaCalls(cluster: Cluster, signal: AbortSignal): QuotaCalls {
  return { list: () => listQuotas(cluster, signal), set: some => setQuotas(cluster, some, {}, signal) }
}

/** Setting a quota would replace an existing one, so quotas that were set after planning are skipped. */
export async function makeQuotas(
  plan: KindPlan<Quota>,
  { list, set }: QuotaCalls,
  signal: AbortSignal,
): Promise<KindReport<Quota>> {
  if (countBy(plan, 'create') === 0) return make(plan, set, signal)
  let there: Quota[]
  try {
    there = await list()
  } catch (error) {
    return make(plan, () => Promise.reject(error), signal)
  }
  const now = planQuotas(
    plan.items.map(({ item }) => item),
    there,
  ).items
  const items = plan.items.map((one, i) => (one.decision === 'create' ? (now[i] ?? one) : one))
  return make({ ...plan, items }, set, signal)
}

/** Denials first: a rule that one of them was to limit is held back where the denial could not be made. */
export async function makeAcls(
  plan: KindPlan<Acl>,
  create: (acls: Acl[]) => Promise<Errors>,
  signal: AbortSignal,
): Promise<KindReport<Acl>> {
  const isDenial = ({ item }: Planned<Acl>) => item.permission === 'DENY'
  const denials = await make({ ...plan, items: plan.items.filter(isDenial) }, create, signal)
  const lost = denials.items.filter(({ decision }) => decision === 'failed' || decision === 'cannot')
  const others = plan.items.filter(one => !isDenial(one)).map(one => holdBack(one, lost))
  const rest = await make({ ...plan, items: others }, create, signal)
  return { ...rest, items: [...denials.items, ...rest.items] }
}

function holdBack(planned: Planned<Acl>, lost: readonly { item: Acl }[]): Planned<Acl> {
  const deny = planned.decision === 'create' && lost.find(({ item }) => isLimitedBy(planned.item, item))
  if (!deny) return planned
  const note = `held back, as this one is missing: ${describeAcl(deny.item)}`
  return { ...planned, decision: 'failed', notes: [...planned.notes, note] }
}

async function make<T>(
  { items, reason }: KindPlan<T>,
  send: (items: T[]) => Promise<Errors>,
  signal: AbortSignal,
): Promise<KindReport<T>> {
  const wanted = items.filter(({ decision }) => decision === 'create')
  const errors = await sendAll(
    wanted.map(({ item }) => item),
    send,
    signal,
  )
  const outcomes = new Map(wanted.map((one, i) => [one, errors[i]]))
  return {
    items: items.map(one => {
      if (one.decision !== 'create') return { ...one, decision: one.decision }
      const error = outcomes.get(one)
      return error
        ? { ...one, decision: 'failed', notes: [...one.notes, error.message] }
        : { ...one, decision: 'created' }
    }),
    ...(reason !== undefined && { reason }),
  }
}

/** A request that fails as a whole is the failure of all that was in it: records and groups are restored by now. */
async function sendAll<T>(items: T[], send: (items: T[]) => Promise<Errors>, signal: AbortSignal): Promise<Errors> {
  if (items.length === 0) return []
  try {
    return await send(items)
  } catch (error) {
    if (signal.aborted || !(error instanceof KafkaBackupError)) throw error
    return items.map(() => error)
  }
}
