import type { AccessReading, Reading } from '../archive/access-section.ts'
import { KafkaBackupError } from '../errors.ts'
import { listAcls } from '../kafka/acls.ts'
import { listQuotas } from '../kafka/client-quotas.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { listScramUsers } from '../kafka/scram-users.ts'
import { aclKey, quotaKey, storeAcl, storeQuota, userKey } from './model.ts'

/** The kinds of access rules that a job backs up or restores. */
export interface AccessSelection {
  acls: boolean
  quotas: boolean
  users: boolean
}

/**
 * The access rules of a cluster as a backup keeps them, in a fixed order: brokers return them unordered, and what has not
 * changed is to be the same object. Of what cannot be read the reason is kept.
 */
export async function readSourceAccess(
  cluster: Cluster,
  selection: AccessSelection,
  signal: AbortSignal,
): Promise<AccessReading> {
  const acls = await take(selection.acls, () => listAcls(cluster, signal), aclKey, signal)
  const quotas = await take(selection.quotas, () => listQuotas(cluster, signal), quotaKey, signal)
  const users = await take(selection.users, () => listScramUsers(cluster, signal), userKey, signal)
  return { acls: mapItems(acls, storeAcl), quotas: mapItems(quotas, storeQuota), users }
}

async function take<T>(
  isWanted: boolean,
  list: () => Promise<T[]>,
  keyOf: (item: T) => string,
  signal: AbortSignal,
): Promise<Reading<T>> {
  if (!isWanted) return { state: 'off' }
  try {
    const items = (await list()).map(item => ({ item, key: keyOf(item) }))
    return { state: 'taken', items: items.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ item }) => item) }
  } catch (error) {
    if (signal.aborted || !(error instanceof KafkaBackupError) || !error.code.startsWith('KAFKA_')) throw error
    return { state: 'failed', error: error.message }
  }
}

function mapItems<T, U>(reading: Reading<T>, map: (item: T) => U): Reading<U> {
  return reading.state === 'taken' ? { state: 'taken', items: reading.items.map(map) } : reading
}
