import { KafkaBackupError } from '../errors.ts'
import { listAcls } from '../kafka/acls.ts'
import { listQuotas, setQuotas } from '../kafka/client-quotas.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchClusterPermissions } from '../kafka/permissions.ts'
import { listScramUsers } from '../kafka/scram-users.ts'
import type { AccessPlan } from './access-plan.ts'
import type { ExistingAccess } from './plan-access.ts'
import type { AccessWish } from './take-access.ts'

/** What the target has already; what is not asked for is not read. */
export async function readExisting(cluster: Cluster, wish: AccessWish, signal: AbortSignal): Promise<ExistingAccess> {
  return {
    acls: wish.acls ? await readable(() => listAcls(cluster, signal), signal) : [],
    quotas: wish.quotas ? await readable(() => listQuotas(cluster, signal), signal) : [],
    users: wish.users ? await readable(() => listScramUsers(cluster, signal), signal) : [],
    granted: await fetchClusterPermissions(cluster, signal),
  }
}

async function readable<T>(list: () => Promise<T[]>, signal: AbortSignal): Promise<T[] | KafkaBackupError> {
  try {
    return await list()
  } catch (error) {
    if (signal.aborted || !(error instanceof KafkaBackupError) || !error.code.startsWith('KAFKA_')) throw error
    return error
  }
}

/** Lets the target try the quotas that are to be made, which changes nothing: those that it refuses are told beforehand. */
export async function tryQuotas(cluster: Cluster, plan: AccessPlan, signal: AbortSignal): Promise<AccessPlan> {
  const { quotas } = plan
  const wanted = quotas?.items.filter(({ decision }) => decision === 'create') ?? []
  if (!quotas || wanted.length === 0) return plan
  const asked = wanted.map(({ item }) => item)
  const tried = await readable(() => setQuotas(cluster, asked, { validateOnly: true }, signal), signal)
  const errors = tried instanceof KafkaBackupError ? asked.map(() => tried) : tried
  const refused = new Map(wanted.map((one, i) => [one, errors[i]]))
  const items = quotas.items.map(one => {
    const error = refused.get(one)
    return error ? { ...one, decision: 'failed' as const, notes: [...one.notes, error.message] } : one
  })
  return { ...plan, quotas: { ...quotas, items } }
}
