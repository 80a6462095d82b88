import type { Cluster } from '../kafka/cluster.ts'
import { fetchGroupPermissions, fetchTopicPermissions, type TopicOperation } from '../kafka/permissions.ts'
import type { Finding } from '../observe/finding.ts'
import type { RestorePlan } from './plan.ts'

/** Something that the user of the job needs, and whether it is granted. */
export interface Grant {
  /** `topic orders`, `group …`. */
  subject: string
  operation: TopicOperation
  isGranted: boolean
}

interface ExaminedPermissions {
  grants: Grant[]
  findings: Finding[]
  /** Topics that nothing more can be asked about. */
  hidden: ReadonlySet<string>
}

const ALWAYS: TopicOperation[] = ['Describe', 'Read', 'Write', 'DescribeConfigs']

/**
 * What the user may do to the topics, also to those that do not exist yet, and to the group of the notes. Whether topics
 * may be created a trial of the creation tells: that may be granted on the cluster, too.
 */
export async function examinePermissions(
  cluster: Cluster,
  plan: RestorePlan,
  { group, isMade }: { group: string; isMade: (topic: string) => boolean },
  signal: AbortSignal,
): Promise<ExaminedPermissions> {
  const names = plan.topics.map(({ name }) => name)
  const ofTopics = await fetchTopicPermissions(cluster, names, signal)
  const topics = names.flatMap(name => {
    const granted = ofTopics.get(name)
    const needed = isMade(name) ? [...ALWAYS, 'AlterConfigs' as const] : ALWAYS
    return granted ? needed.map(operation => grant(`topic ${name}`, operation, granted)) : []
  })
  const ofGroup = await fetchGroupPermissions(cluster, group, signal)
  const grants = [...topics, ...(ofGroup ? [grant(`group ${group}`, 'Read', ofGroup)] : [])]
  const cannot = (name: string, operation: TopicOperation) => ofTopics.get(name)?.has(operation) === false
  const hidden = names.filter(name => cannot(name, 'Describe') || cannot(name, 'DescribeConfigs'))
  return { grants, findings: describeMissing(grants), hidden: new Set(hidden) }
}

function grant(subject: string, operation: TopicOperation, granted: ReadonlySet<TopicOperation>): Grant {
  return { subject, operation, isGranted: granted.has(operation) }
}

/** One finding a subject, with the grant that would do. */
function describeMissing(grants: readonly Grant[]): Finding[] {
  const missing = Map.groupBy(
    grants.filter(({ isGranted }) => !isGranted),
    ({ subject }) => subject,
  )
  return [...missing].map(([subject, some]) => {
    const operations = some.map(({ operation }) => operation)
    return denied(subject, operations.join(', '), `grant ${operations.join(', ')} on ${subject}`)
  })
}

export function denied(subject: string, operations: string, remedy: string): Finding {
  const problem = `the user of this job may not ${operations}`
  const details = { resource: subject, operation: operations }
  return { severity: 'error', subject, problem, remedy, code: 'KAFKA_DENIED', details }
}
