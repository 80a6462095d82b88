import { newestState } from '../archive/catalog.ts'
import { writerWarnings } from '../archive/log/writer-warnings.ts'
import { fetchTopicPermissions, probeBroker, type TopicOperation } from '../kafka/permissions.ts'
import { isPattern } from '../lib/glob.ts'
import { attempt, type Check, type CheckReport } from '../observe/finding.ts'
import type { BackupOptions } from './backup-options.ts'
import { listFirst } from './observe-round.ts'
import type { ObservedSource } from './observed-source.ts'
import { describeReread, noticeRereads } from './reread-notices.ts'
import { type BackupParts, prepareRound } from './round.ts'
import { selectTopics } from './select-topics.ts'

interface CheckParts extends Pick<BackupParts, 'cluster' | 'storage' | 'clock'> {
  /** Of the storage, and of the registry. */
  otherChecks: Check[]
}

const NEEDED: TopicOperation[] = ['Describe', 'Read', 'DescribeConfigs']
/** Brokers before Kafka 2.3. A topic that they show may be described; they refuse the rest only when it is needed. */
const NOT_REPORTED = 'Read and DescribeConfigs cannot be checked: the brokers do not report permissions on topics'

/** Everything a backup would need, tried out or asked for, without writing anything. All findings at once. */
export async function checkBackup(
  options: BackupOptions,
  parts: CheckParts,
  signal: AbortSignal,
): Promise<CheckReport> {
  const all = await parts.cluster.metadata({ topics: null }, signal)
  const brokers = await Promise.all(all.brokers.map(({ id }) => checkBroker(id, parts, signal)))
  const topics = await checkTopics(options, all.topics, parts, signal)
  const checks = [...brokers, ...topics, ...parts.otherChecks]
  const rest = checks.every(check => check.allowed)
    ? await checkPlan(options, parts, signal)
    : { checks: [], warnings: [] }
  const findings = [...checks, ...rest.checks]
  return {
    ok: findings.every(check => check.allowed),
    clusterId: all.clusterId,
    brokers: all.brokers.length,
    checks: findings,
    warnings: rest.warnings,
  }
}

async function checkBroker(id: number, { cluster }: CheckParts, signal: AbortSignal): Promise<Check> {
  const subject = `broker ${id}`
  return attempt(subject, 'connect', signal, () => probeBroker(cluster, id, 'read', signal))
}

async function checkTopics(
  options: BackupOptions,
  topics: readonly { name: string; isInternal: boolean }[],
  { cluster }: CheckParts,
  signal: AbortSignal,
): Promise<Check[]> {
  const named = topics.map(({ name, isInternal }) => ({ name, internal: isInternal }))
  const literals = options.topics.include.filter(entry => !isPattern(entry))
  const wanted = [...new Set([...selectTopics(options.topics, named).names, ...literals])]
  if (wanted.length === 0) return []
  const { topics: known } = await cluster.metadata({ topics: wanted }, signal)
  const permissions = await fetchTopicPermissions(cluster, wanted, signal)
  return known
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, errorCode }) => {
      const subject = `topic ${name}`
      if (errorCode === 3) {
        const allowed = options.missingTopics === 'warn'
        const detail = allowed
          ? 'no such topic; the backup warns and copies the others (backup.missing_topics: warn)'
          : 'no such topic; correct source.topics.include, or set backup.missing_topics: warn'
        return [{ subject, action: 'exists', allowed, detail }]
      }
      const granted = permissions.get(name)
      if (!granted) return [{ subject, action: 'Describe', allowed: true, detail: NOT_REPORTED }]
      return NEEDED.map(action => {
        const allowed = granted.has(action)
        return { subject, action, allowed, detail: allowed ? '' : `grant ${action} on topic ${name}` }
      })
    })
}

/** Whether a run could continue from the backup: the same cluster, nothing truncated, the manifest readable. */
async function checkPlan(
  options: BackupOptions,
  { cluster, storage, clock }: CheckParts,
  signal: AbortSignal,
): Promise<{ checks: Check[]; warnings: string[] }> {
  let warnings: string[] = []
  let leaders: Check[] = []
  const check = await attempt(`backup ${options.backupId}`, 'continue', signal, async () => {
    const found = await newestState(storage, options.backupId, signal)
    const { manifest: previous } = found
    const damage = found.isLog ? await writerWarnings(storage, options.backupId, found, signal) : []
    const { observed, plan } = await prepareRound(options, { cluster, clock }, previous, signal)
    leaders = checkLeaders(observed)
    warnings = [...damage, ...plan.warnings, ...noticeRereads(plan).map(describeReread)]
    return previous ? `continues from generation ${previous.generation}` : 'will be new'
  })
  return { checks: [check, ...leaders], warnings }
}

/** Pure. One failed check for each topic. */
function checkLeaders({ topics }: Pick<ObservedSource, 'topics'>): Check[] {
  return topics.flatMap(({ name, leaderless }) => {
    if (leaderless.length === 0) return []
    const which = leaderless.length === 1 ? 'partition' : 'partitions'
    const detail = `no leader: ${which} ${listFirst(leaderless.map(String))}; start the brokers that have replicas`
    return [{ subject: `topic ${name}`, action: 'lead', allowed: false, detail }]
  })
}
