import type { AccessFile, AccessKind, AccessSection } from '../archive/access-section.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { TopicOperation } from '../kafka/permissions.ts'
import { shellQuote } from '../lib/shell.ts'
import type { Finding } from '../observe/finding.ts'
import { type AccessPlan, countBy, type KindPlan } from './access-plan.ts'
import {
  type Acl,
  describeAcl,
  describeUser,
  kindWords,
  type Quota,
  quotaKey,
  type ScramUser,
  unstoreAcl,
  unstoreQuota,
  userKey,
} from './model.ts'
import { describeUncovered, findOpenings, listUncovered, type NewNames, planAcls } from './plan-acls.ts'
import type { AccessSelection } from './read-source-access.ts'

export interface AccessOptions extends AccessSelection {
  names: NewNames
}

interface BackedAccess {
  generation: number
  section: AccessSection | undefined
  /** The object that the section names, or what is wrong with it. */
  file: AccessFile | KafkaBackupError | undefined
}

/** What the target has of what is asked for, or why it does not tell. */
export interface ExistingAccess {
  acls: Acl[] | KafkaBackupError
  quotas: Quota[] | KafkaBackupError
  users: ScramUser[] | KafkaBackupError
  /** What the user of the job may do to the cluster; undefined where the broker does not tell. */
  granted: ReadonlySet<TopicOperation> | undefined
}

/** Pure: what of the backup is made on the target, what stays, and what cannot come. */
export function planAccess(options: AccessOptions, backed: BackedAccess, existing: ExistingAccess): AccessPlan {
  const { file } = backed
  const missing = (['acls', 'quotas', 'users'] as const)
    .filter(kind => options[kind] && backed.section?.[kind].state !== 'taken')
    .map(kind => notInBackup(kind, backed))
  if (missing.length > 0 || !file) return { findings: missing }
  if (file instanceof KafkaBackupError) return { findings: [damaged(file)] }
  const acls = file.acls.map(unstoreAcl)
  const plan = {
    ...(options.acls && {
      acls: planKind(acls, existing.acls, there => planAcls(acls, there, options.names)),
    }),
    ...(options.quotas && {
      quotas: planKind(file.quotas.map(unstoreQuota), existing.quotas, there =>
        planQuotas(file.quotas.map(unstoreQuota), there),
      ),
    }),
    ...(options.users && {
      users: planKind(file.users, existing.users, there => planUsers(file.users, there)),
    }),
  }
  const findings = [...findUnread(plan, existing), ...findDenied(plan, existing), ...findNotable(plan)]
  return { ...plan, findings: [...findings, ...findRenamed(plan.acls, options.names)] }
}

function planKind<T>(
  backed: readonly T[],
  existing: T[] | KafkaBackupError,
  plan: (there: T[]) => KindPlan<T>,
): KindPlan<T> {
  if (!(existing instanceof KafkaBackupError)) return plan(existing)
  // Without an authorizer there is nothing that would keep rules. Of what else is not told nothing must be made blindly.
  const isWithout = existing.code === 'KAFKA_NO_AUTHORIZER'
  const reason = isWithout ? 'the target has no authorizer: it keeps no ACLs and checks none' : existing.message
  const decision = isWithout ? 'cannot' : 'failed'
  return { items: backed.map(item => ({ item, decision, notes: [] })), reason }
}

function notInBackup(kind: AccessKind, { generation, section }: BackedAccess): Finding {
  const said = section?.[kind]
  const why = said?.state === 'failed' ? `they could not be read: ${said.error}` : `backup.${kind} was off`
  return {
    severity: 'error',
    subject: kindWords[kind],
    problem: `generation ${generation} of the backup has none: ${why}`,
    remedy: `restore another generation with restore.generation, or set restore.${kind}: false`,
  }
}

function damaged({ message, details }: KafkaBackupError): Finding {
  const remedy = 'restore another generation with restore.generation, or leave out restore.acls, quotas and users'
  return { severity: 'error', subject: 'access rules', problem: message, remedy, code: 'ARCHIVE_DAMAGED', details }
}

type Plan = Omit<AccessPlan, 'findings'>

const toRead = { acls: 'Describe', quotas: 'DescribeConfigs', users: 'Describe' } as const

function findUnread(plan: Plan, existing: ExistingAccess): Finding[] {
  return (['acls', 'quotas', 'users'] as const).flatMap(kind => {
    const { reason, items = [] } = plan[kind] ?? {}
    if (reason === undefined || items.length === 0) return []
    const found = warning(kindWords[kind], `${items.length} of the backup do not come to the target: ${reason}`)
    if (!hasCode(existing[kind], 'KAFKA_DENIED')) return [found]
    const operation = toRead[kind]
    const details = { resource: 'cluster', operation }
    return [{ ...found, remedy: `grant ${operation} on the cluster`, code: 'KAFKA_DENIED', details }]
  })
}

const needed = { acls: 'Alter', quotas: 'AlterConfigs' } as const

/** Rules that the user of the job may not make: they will fail, and nothing else with them. */
function findDenied(plan: Plan, { granted }: ExistingAccess): Finding[] {
  return (['acls', 'quotas'] as const).flatMap(kind => {
    const operation = needed[kind]
    if (countBy(plan[kind], 'create') === 0 || granted === undefined || granted.has(operation)) return []
    const problem = `the user of this job may not ${operation}, so that no ${kindWords[kind]} can be made`
    const remedy = `grant ${operation} on the cluster`
    const details = { resource: 'cluster', operation }
    return [{ severity: 'warning', subject: 'cluster', problem, remedy, code: 'KAFKA_DENIED', details }]
  })
}

const SHOWN = 5

function findNotable({ acls, users }: Plan): Finding[] {
  const openings = acls ? findOpenings(acls) : []
  const lacking = users?.reason === undefined ? (users?.items ?? []).filter(one => one.decision === 'cannot') : []
  return [
    ...(openings.length === 0
      ? []
      : [warning('ACLs', `${openings.length} would allow something to everybody: ${shorten(openings)}`)]),
    ...(lacking.length === 0
      ? []
      : [
          warning(
            'SCRAM users',
            `the target lacks ${shorten(lacking.map(({ item }) => describeUser(item)))}`,
            'create them with passwords, which Kafka never reveals; the report has the commands',
          ),
        ]),
  ]
}

/** What the new names of a restore change for its rules. A target without an authorizer has none. */
function findRenamed({ items, reason }: KindPlan<Acl> = { items: [] }, names: NewNames): Finding[] {
  if (reason !== undefined) return []
  const foreign = items.filter(({ decision }) => decision === 'cannot').map(({ item }) => describeAcl(item))
  const uncovered = items.flatMap(({ item }) =>
    listUncovered(item, names).map(one => `${describeAcl(item)} ${describeUncovered(one)}`),
  )
  const older = names.topics.filter(({ source, label, target }) => {
    const isGiven = ({ item, decision }: (typeof items)[number]) =>
      decision === 'create' && item.resourceType === 'TOPIC' && item.resourceName === target
    return label !== source && items.some(isGiven)
  })
  return [
    ...(foreign.length === 0
      ? []
      : [warning('ACLs', `${foreign.length} not created, because another topic gets the name: ${shorten(foreign)}`)]),
    ...(uncovered.length === 0
      ? []
      : [
          warning(
            'ACLs',
            `rules on prefixes and on groups keep their names: ${shorten(uncovered)}`,
            'create rules for the new names on the target',
          ),
        ]),
    ...older.map(({ source, label, target }) =>
      warning('ACLs', `topic ${target} (${label}) gets the rules that this generation has for ${source}`),
    ),
  ]
}

function shorten(all: readonly string[]): string {
  const more = all.length > SHOWN ? `, and ${all.length - SHOWN} more` : ''
  return `${all.slice(0, SHOWN).join('; ')}${more}`
}

function warning(subject: string, problem: string, remedy = ''): Finding {
  return { severity: 'warning', subject, problem, remedy }
}

/** Pure. An existing limit of the target is never changed. */
export function planQuotas(backed: readonly Quota[], existing: readonly Quota[]): KindPlan<Quota> {
  const there = new Map(existing.map(quota => [quotaKey(quota), quota.value]))
  return {
    items: backed.map(item => {
      const value = there.get(quotaKey(item))
      if (value === undefined) return { item, decision: 'create', notes: [] }
      if (value === item.value) return { item, decision: 'kept', notes: [] }
      return { item, decision: 'differs', notes: [`the target has ${value}, which stays`] }
    }),
  }
}

/** Pure. Kafka tells no passwords, so that a user whom the target lacks has to be made by hand. */
function planUsers(backed: readonly ScramUser[], existing: readonly ScramUser[]): KindPlan<ScramUser> {
  const there = new Map(existing.map(user => [userKey(user), user.iterations]))
  return {
    items: backed.map(item => {
      const iterations = there.get(userKey(item))
      if (iterations === undefined) return { item, decision: 'cannot', notes: [commandFor(item)] }
      if (iterations === item.iterations) return { item, decision: 'kept', notes: [] }
      return { item, decision: 'differs', notes: [`the target has ${iterations} iterations, which stay`] }
    }),
  }
}

/** What makes the user, with a password of one's own choice. */
export function commandFor({ user, mechanism, iterations }: ScramUser): string {
  const config = `${mechanism}=[iterations=${iterations},password=<password>]`
  const entity = `--entity-type users --entity-name ${shellQuote(user)}`
  return `kafka-configs.sh --bootstrap-server <target> --alter ${entity} --add-config '${config}'`
}
