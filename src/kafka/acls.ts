import { KafkaBackupError } from '../errors.ts'
import { createAclsApi, describeAcls, type WireAcl } from './api/acls.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'

/** A rule of access in the words of `kafka-acls.sh`: `TOPIC`, `PREFIXED`, `READ`, `ALLOW`. */
export interface Acl {
  resourceType: string
  resourceName: string
  patternType: string
  principal: string
  host: string
  operation: string
  permission: string
}

const ACLS_PER_REQUEST = 200
const CLUSTER_AUTHORIZATION_FAILED = 31

/** All rules of the cluster, in no order. KAFKA_NO_AUTHORIZER where it has none, as nothing checks them. */
export function listAcls(cluster: Cluster, signal: AbortSignal): Promise<Acl[]> {
  return cluster.settling(async () => {
    const link = await anyLink(cluster, signal)
    const { errorCode, errorMessage, acls } = await link.call(describeAcls, {}, signal)
    if (errorCode !== 0) throw refusal(errorCode, 'listing the ACLs of the cluster', errorMessage)
    return acls.map(toAcl)
  }, signal)
}

/** Makes the rules and tells of each, in order, why it was refused. One that is there already is fine. */
export async function createAcls(
  cluster: Cluster,
  acls: readonly Acl[],
  signal: AbortSignal,
): Promise<(KafkaBackupError | undefined)[]> {
  const outcomes = new Map(acls.map(acl => [acl, findUnknown(acl)]))
  const known = acls.filter(acl => outcomes.get(acl) === undefined)
  for (let start = 0; start < known.length; start += ACLS_PER_REQUEST) {
    const some = known.slice(start, start + ACLS_PER_REQUEST)
    const errors = await createSome(cluster, some, signal)
    for (const [i, acl] of some.entries()) outcomes.set(acl, errors[i])
  }
  return acls.map(acl => outcomes.get(acl))
}

/** A broker that is sent a kind without a number drops the connection, and all other rules with it. */
function findUnknown(acl: Acl): KafkaBackupError | undefined {
  const { resourceType, patternType, operation, permission } = toWire(acl)
  const codes = { resourceType, patternType, operation, permission }
  const [field] = Object.entries(codes).find(([, code]) => code === 0 || Math.abs(code) > 127) ?? []
  if (field === undefined) return undefined
  const message = `this version of kafka-backup does not know ${acl[field as keyof typeof codes]}`
  return new KafkaBackupError('KAFKA_REFUSED', message, { help: 'Use a newer version.' })
}

/** To make a rule twice changes nothing, so that all are asked for again after what passes. */
function createSome(
  cluster: Cluster,
  acls: readonly Acl[],
  signal: AbortSignal,
): Promise<(KafkaBackupError | undefined)[]> {
  return cluster.settling(async () => {
    const link = await anyLink(cluster, signal)
    const { results } = await link.call(createAclsApi, { acls: acls.map(toWire) }, signal)
    if (results.length !== acls.length) {
      throw new KafkaBackupError('KAFKA_PROTOCOL', `the broker answered ${results.length} of ${acls.length} new ACLs`)
    }
    const errors = results.map(({ errorCode, errorMessage }) =>
      errorCode === 0 ? undefined : refusal(errorCode, 'creating the ACL', errorMessage),
    )
    const passing = errors.find(error => error?.retryable)
    if (passing) throw passing
    return errors
  }, signal)
}

/** A denial contains a description of the request that differs each time; it adds nothing, and is omitted. */
function refusal(errorCode: number, doing: string, said: string | null): KafkaBackupError {
  return brokerError(errorCode, doing, errorCode === CLUSTER_AUTHORIZATION_FAILED ? null : said)
}

/** Any broker takes rules, or passes them on. */
async function anyLink(cluster: Cluster, signal: AbortSignal) {
  const { controllerId } = await cluster.metadata({ topics: [] }, signal)
  return cluster.link(controllerId, signal)
}

function toAcl({ resourceType, patternType, operation, permission, ...texts }: WireAcl): Acl {
  return {
    ...texts,
    resourceType: aclNames.resourceTypes.nameOf(resourceType),
    patternType: aclNames.patternTypes.nameOf(patternType),
    operation: aclNames.operations.nameOf(operation),
    permission: aclNames.permissions.nameOf(permission),
  }
}

function toWire({ resourceType, patternType, operation, permission, ...texts }: Acl): WireAcl {
  return {
    ...texts,
    resourceType: aclNames.resourceTypes.codeOf(resourceType),
    patternType: aclNames.patternTypes.codeOf(patternType),
    operation: aclNames.operations.codeOf(operation),
    permission: aclNames.permissions.codeOf(permission),
  }
}

/**
 * The words of `kafka-acls.sh` for the numbers of the protocol. An unknown number is `CODE_<number>`, so that
 * what a newer Kafka has comes back as it was.
 */
const resourceTypes = names(
  { 2: 'TOPIC', 3: 'GROUP', 4: 'CLUSTER', 5: 'TRANSACTIONAL_ID' },
  { 6: 'DELEGATION_TOKEN', 7: 'USER' },
)
const patternTypes = names({ 3: 'LITERAL', 4: 'PREFIXED' })
const permissions = names({ 2: 'DENY', 3: 'ALLOW' })
const operations = names(
  { 2: 'ALL', 3: 'READ', 4: 'WRITE', 5: 'CREATE', 6: 'DELETE', 7: 'ALTER', 8: 'DESCRIBE', 9: 'CLUSTER_ACTION' },
  { 10: 'DESCRIBE_CONFIGS', 11: 'ALTER_CONFIGS', 12: 'IDEMPOTENT_WRITE', 13: 'CREATE_TOKENS', 14: 'DESCRIBE_TOKENS' },
  { 15: 'TWO_PHASE_COMMIT' },
)
const scramMechanisms = names({ 1: 'SCRAM-SHA-256', 2: 'SCRAM-SHA-512' })

const aclNames = { resourceTypes, patternTypes, permissions, operations }

export { scramMechanisms }

interface CodeNames {
  nameOf(code: number): string
  codeOf(name: string): number
}

/** Anything else than a name of this table or `CODE_<number>` becomes 0, which must not be sent. */
function names(...tables: Readonly<Record<number, string>>[]): CodeNames {
  const byCode = new Map(tables.flatMap(table => Object.entries(table)).map(([code, name]) => [Number(code), name]))
  const byName = new Map([...byCode].map(([code, name]) => [name, code]))
  return {
    nameOf: code => byCode.get(code) ?? `CODE_${code}`,
    codeOf: name => byName.get(name) ?? Number(/^CODE_(-?\d{1,3})$/.exec(name)?.[1] ?? 0),
  }
}
