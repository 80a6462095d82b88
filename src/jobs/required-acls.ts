import type { AclPlace } from '../access/format-acls.ts'
import { type JobRequests, planRequiredAcls, type RequiredAcls } from '../access/required-acls.ts'
import { nameOf } from '../config/kafka-text-rules.ts'
import type { BackupJob, Job, RestoreJob } from '../config/load-job.ts'
import { restoreGroup } from '../restore/progress.ts'

/** The ACLs that the user of a job needs. From the job alone: neither the cluster nor the storage is contacted. */
export interface JobAcls extends RequiredAcls {
  place: AclPlace
}

/** Pure. */
export function requiredAclsOf(job: Job): JobAcls {
  const cluster = job.mode === 'restore' ? job.target : job.source
  const { notes, ...planned } = planRequiredAcls(job.mode === 'restore' ? restoreRequests(job) : backupRequests(job))
  const sasl = cluster.security?.sasl
  const principal = sasl && 'username' in sasl ? `User:${sasl.username}` : undefined
  return {
    ...planned,
    notes: [...notes, ...(sasl?.mechanism === 'AWS_MSK_IAM' ? [IAM] : [])],
    place: { principal, bootstrapServers: cluster.bootstrapServers, isSecure: cluster.security !== undefined },
  }
}

const IAM = 'with AWS_MSK_IAM, an IAM policy grants the permissions, not ACLs'

function backupRequests({ source, backup }: BackupJob): JobRequests {
  const { consumerGroups, acls, quotas, users } = backup
  const groups = { ...consumerGroups, field: 'backup.consumer_groups' }
  return {
    mode: 'backup',
    topics: { ...source.topics, field: 'source.topics' },
    ...(groups.include.length > 0 && { groups }),
    createTopics: false,
    acls,
    quotas,
    users,
  }
}

function restoreRequests({ restore }: RestoreJob): JobRequests {
  const { topics, topicMapping, restoreId, consumerGroups, filter, createTopics, acls, quotas, users } = restore
  const appends = restore.existingTopics === 'append'
  const ownGroup = appends ? undefined : restoreId
  // As a restore does: with a filter, groups are carried over only by their names.
  const { include = filter ? [] : ['*'], exclude, mapping } = consumerGroups
  const groups = { include, exclude, mapping, field: 'restore.consumer_groups' }
  const targets = topics.include.map(entry => (topicMapping.has(entry) ? entry : nameOf(entry)))
  return {
    mode: 'restore',
    topics: { include: targets, exclude: topics.exclude, mapping: topicMapping, field: 'restore.topics' },
    ...(include.length > 0 && { groups }),
    progressGroup: { name: restoreGroup(ownGroup ?? ''), pattern: ownGroup === undefined ? 'prefixed' : 'literal' },
    createTopics,
    appends,
    acls,
    quotas,
    users,
  }
}
