import type { KindPlan, Planned } from './access-plan.ts'
import { type Acl, aclKey, describeAcl, describeResource } from './model.ts'

/**
 * Pure. Rules that the target lacks are made, denials before what they limit. A rule on a topic that the restore gives another
 * name follows it; one on a prefix stays as it is, because its topics are unknown. `sources`: what each
 * restored topic of the target is in the backup.
 */
export function planAcls(
  backed: readonly Acl[],
  existing: readonly Acl[],
  topicMapping: ReadonlyMap<string, string>,
  sources: ReadonlyMap<string, string> = new Map(),
): KindPlan<Acl> {
  const there = new Set(existing.map(aclKey))
  const wanted = new Map<string, Planned<Acl>>()
  for (const acl of backed) {
    const item = follow(acl, topicMapping)
    const key = aclKey(item)
    // Two rules can become one, where a topic takes the name of another.
    if (wanted.has(key) && wanted.get(key)?.decision !== 'cannot') continue
    const foreign = noteForeign(acl, item, sources)
    const decision = there.has(key) ? 'kept' : foreign.length > 0 ? 'cannot' : 'create'
    wanted.set(key, { item, decision, notes: [...noteName(acl, item), ...notePrefix(acl, topicMapping), ...foreign] })
  }
  return { items: [...wanted.values()].sort((a, b) => rank(a) - rank(b)) }
}

function follow(acl: Acl, topicMapping: ReadonlyMap<string, string>): Acl {
  const name = acl.resourceType === 'TOPIC' && acl.patternType === 'LITERAL' && topicMapping.get(acl.resourceName)
  return name ? { ...acl, resourceName: name } : acl
}

function noteName(backed: Acl, { resourceName }: Acl): string[] {
  return backed.resourceName === resourceName ? [] : [`for ${describeResource(backed)} of the backup`]
}

/** A rule that would open the records of a topic that it was never meant for, as that one is restored under its name. */
function noteForeign(backed: Acl, { resourceName, permission }: Acl, sources: ReadonlyMap<string, string>): string[] {
  if (backed.resourceType !== 'TOPIC' || backed.patternType !== 'LITERAL' || permission === 'DENY') return []
  const source = sources.get(resourceName)
  if (source === undefined || source === backed.resourceName) return []
  return [`not for it: topic ${resourceName} of the target is topic ${source} of the backup`]
}

function notePrefix(
  { resourceType, patternType, resourceName }: Acl,
  topicMapping: ReadonlyMap<string, string>,
): string[] {
  if (resourceType !== 'TOPIC' || patternType !== 'PREFIXED') return []
  return [...topicMapping]
    .filter(([source, target]) => source.startsWith(resourceName) && !target.startsWith(resourceName))
    .map(([source, target]) => `the prefix is kept: it covered ${source}, and does not cover ${target}`)
}

function rank({ item }: Planned<Acl>): number {
  return item.permission === 'DENY' ? 0 : 1
}

/** Rules that would open something to everybody, in words. */
export function findOpenings({ items }: KindPlan<Acl>): string[] {
  return items
    .filter(({ item, decision }) => decision === 'create' && item.permission === 'ALLOW' && isEverybody(item))
    .map(({ item }) => describeAcl(item))
}

/** Whether a rule could give what the denial was to take: conservative, without regard to operation and host. */
export function isLimitedBy(allow: Acl, deny: Acl): boolean {
  if (allow.resourceType !== deny.resourceType) return false
  if (allow.principal !== deny.principal && !isEverybody(allow) && !isEverybody(deny)) return false
  return covers(allow, deny) || covers(deny, allow)
}

function isEverybody({ principal }: Acl): boolean {
  return principal.endsWith(':*')
}

/** Whether the resources of the second are, or may be, among those of the first. */
function covers(first: Acl, second: Acl): boolean {
  if (first.resourceName === second.resourceName) return true
  if (first.patternType === 'LITERAL') return first.resourceName === '*'
  return second.resourceName.startsWith(first.resourceName)
}
