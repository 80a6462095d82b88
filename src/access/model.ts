import type { StoredAcl, StoredQuota } from '../archive/access-section.ts'
import type { Acl } from '../kafka/acls.ts'
import { entityKey, type Quota } from '../kafka/client-quotas.ts'
import type { ScramUser } from '../kafka/scram-users.ts'

export type { Acl } from '../kafka/acls.ts'
export type { Quota } from '../kafka/client-quotas.ts'
export type { ScramUser } from '../kafka/scram-users.ts'

/** The words for each kind. */
export const kindWords = { acls: 'ACLs', quotas: 'client quotas', users: 'SCRAM users' }

export function storeAcl({ resourceType, resourceName, patternType, ...rest }: Acl): StoredAcl {
  return { resource_type: resourceType, resource_name: resourceName, pattern_type: patternType, ...rest }
}

export function unstoreAcl({ resource_type, resource_name, pattern_type, ...rest }: StoredAcl): Acl {
  return { resourceType: resource_type, resourceName: resource_name, patternType: pattern_type, ...rest }
}

export function storeQuota({ entity, key, value }: Quota): StoredQuota {
  return { entity, key, value: String(value) }
}

export function unstoreQuota({ entity, key, value }: StoredQuota): Quota {
  return { entity, key, value: Number(value) }
}

/** The same for what is the same rule, limit or login. */
export function aclKey(acl: Acl): string {
  const { resourceType, resourceName, patternType, principal, host, operation, permission } = acl
  return JSON.stringify([resourceType, resourceName, patternType, principal, host, operation, permission])
}

export function quotaKey({ entity, key }: Quota): string {
  return JSON.stringify([entityKey(entity), key])
}

export function userKey({ user, mechanism }: ScramUser): string {
  return JSON.stringify([user, mechanism])
}

/** `ALLOW User:alice READ on topic orders, from any host`. */
export function describeAcl({ permission, principal, operation, host, ...resource }: Acl): string {
  const from = host === '*' ? '' : `, from ${host}`
  return `${permission} ${principal} ${operation} on ${describeResource(resource)}${from}`
}

export function describeResource({
  resourceType,
  resourceName,
  patternType,
}: Pick<Acl, 'resourceType' | 'resourceName' | 'patternType'>): string {
  const kind = resourceType.toLowerCase().replaceAll('_', ' ')
  if (resourceType === 'CLUSTER') return 'the cluster'
  if (patternType === 'LITERAL') return resourceName === '*' ? `every ${kind}` : `${kind} ${resourceName}`
  return patternType === 'PREFIXED'
    ? `${kind}s with the prefix ${resourceName}`
    : `${kind} ${patternType} ${resourceName}`
}

/** `user alice, client-id app`, and `<default>` for all others. */
function describeEntity({ entity }: Pick<Quota, 'entity'>): string {
  return entity.map(({ type, name }) => `${type} ${name ?? '<default>'}`).join(', ')
}

export function describeQuota(quota: Quota): string {
  return `${describeEntity(quota)}: ${quota.key} ${quota.value}`
}

export function describeUser({ user, mechanism }: ScramUser): string {
  return `${user} (${mechanism})`
}
