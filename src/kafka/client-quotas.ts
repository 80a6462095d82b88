import { KafkaBackupError } from '../errors.ts'
import type { QuotaEntity } from './api/client-quotas.ts'
import { alterClientQuotas, describeClientQuotas } from './api/client-quotas.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'
import { callController } from './cluster.ts'

/** One limit of a user, a client, both together, or an address. */
export interface Quota {
  /** By type: a broker gives the parts in no order. */
  entity: QuotaEntity
  key: string
  value: number
}

interface SetQuotasOptions {
  /** Checks everything and changes nothing. */
  validateOnly?: boolean
}

const ENTITIES_PER_REQUEST = 200

/** All quotas of the cluster, in no order. */
export function listQuotas(cluster: Cluster, signal: AbortSignal): Promise<Quota[]> {
  return cluster.settling(async () => {
    const { errorCode, errorMessage, entries } = await cluster.callAny(describeClientQuotas, {}, signal)
    if (errorCode !== 0) throw brokerError(errorCode, 'listing the quotas of the cluster', errorMessage)
    return entries.flatMap(({ entity, values }) =>
      values.map(({ key, value }) => ({ entity: sorted(entity), key, value })),
    )
  }, signal)
}

/** Sets the quotas and tells of each, in order, why it was refused: of one entity all are set, or none. */
export async function setQuotas(
  cluster: Cluster,
  quotas: readonly Quota[],
  options: SetQuotasOptions,
  signal: AbortSignal,
): Promise<(KafkaBackupError | undefined)[]> {
  const byEntity = [...Map.groupBy(quotas, ({ entity }) => entityKey(entity)).values()]
  const answers = new Map<string, KafkaBackupError | undefined>()
  for (let start = 0; start < byEntity.length; start += ENTITIES_PER_REQUEST) {
    const some = byEntity.slice(start, start + ENTITIES_PER_REQUEST)
    for (const [key, error] of await setSome(cluster, some, options, signal)) answers.set(key, error)
  }
  return quotas.map(({ entity }) => answers.get(entityKey(entity)))
}

/** The same for equal entities, whatever the order of their parts. */
export function entityKey(entity: QuotaEntity): string {
  return JSON.stringify(sorted(entity).map(({ type, name }) => [type, name]))
}

/** To set a quota twice changes nothing, so that all are asked for again after what passes. */
function setSome(
  cluster: Cluster,
  byEntity: readonly (readonly Quota[])[],
  { validateOnly = false }: SetQuotasOptions,
  signal: AbortSignal,
): Promise<Map<string, KafkaBackupError | undefined>> {
  const entries = byEntity.map(some => ({ entity: some[0]?.entity ?? [], values: some }))
  return cluster.settling(async () => {
    const answer = await callController(cluster, alterClientQuotas, { entries, validateOnly }, 0, signal)
    const errors = new Map(
      answer.entries.map(({ entity, errorCode, errorMessage }) => [
        entityKey(entity),
        errorCode === 0 ? undefined : brokerError(errorCode, 'setting the quota', errorMessage),
      ]),
    )
    const passing = [...errors.values()].find(error => error?.retryable)
    if (passing) throw passing
    const unsaid = entries.find(({ entity }) => !errors.has(entityKey(entity)))
    if (unsaid) {
      const what = `the broker did not say whether it set the quota of ${entityKey(unsaid.entity)}`
      throw new KafkaBackupError('KAFKA_PROTOCOL', what)
    }
    return errors
  }, signal)
}

function sorted(entity: QuotaEntity): QuotaEntity {
  return entity.toSorted((a, b) => (a.type < b.type ? -1 : 1))
}
