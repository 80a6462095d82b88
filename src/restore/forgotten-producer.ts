import type { Cluster } from '../kafka/cluster.ts'
import { refusesForgotten } from '../kafka/produce-lane.ts'
import { formatDuration } from '../lib/units.ts'
import type { Finding } from '../observe/finding.ts'
import type { Circumstances } from './preflight.ts'

const EXPIRATION = 'transactional.id.expiration.ms'
const DEFAULT_EXPIRATION_MS = 7 * 86_400_000

export const FORGOTTEN_REMEDY =
  'upgrade the brokers to Kafka 2.5 or later, which take what such a producer writes next, and run the same command ' +
  `again; or raise ${EXPIRATION} of the brokers, or restore in parts of less than ten minutes, into topics that are not there yet`

/**
 * A warning where brokers may end the restore: before Kafka 2.5 they forget a producer by the time in its last records, and then refuse
 * its sequences, so that nothing more can be written exactly once.
 */
export async function findForgetting(
  cluster: Cluster,
  { target, extents, defaults, nowMs }: Pick<Circumstances, 'target' | 'extents' | 'defaults' | 'nowMs'>,
  signal: AbortSignal,
): Promise<Finding[]> {
  const limitMs = Number(defaults.get(EXPIRATION)?.value ?? DEFAULT_EXPIRATION_MS)
  const isOld = [...extents.values()].some(({ oldest }) => oldest !== null && nowMs - Number(oldest) > limitMs)
  const [broker] = target.brokers
  if (!isOld || !broker || !(await refusesForgotten(cluster, broker.id, signal))) return []
  const problem =
    `its brokers are older than Kafka 2.5: when they restart, and every ten minutes, they forget the producer of records older than ` +
    `${formatDuration(limitMs)}, and refuse what it writes next. A partition that is being filled with such records then cannot be completed`
  return [{ severity: 'warning', subject: 'target', problem, remedy: FORGOTTEN_REMEDY }]
}
