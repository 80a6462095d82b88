import type { KindPlan, Planned } from './access-plan.ts'
import { type Acl, aclKey, describeAcl, describeResource } from './model.ts'

/** A topic of the backup on its way to the target. */
export interface RestoredTopic {
  /** Its name in the backup. */
  source: string
  /** The same, with the ID of an incarnation that is not the latest. */
  label: string
  target: string
}

/** What has another name on the target. */
export interface NewNames {
  topics: readonly RestoredTopic[]
  /** Source topic to target topic, also of topics that are not restored. */
  topicMapping: ReadonlyMap<string, string>
  /** Of consumer groups. */
  groupMapping: ReadonlyMap<string, string>
}

/**
 * Pure. Rules that the target lacks are created, denials before what they limit. A literal rule on a topic is created for every name
 * under which a topic of that name is restored. All others keep their names: the topics of a prefix are unknown.
 */
export function planAcls(backed: readonly Acl[], existing: readonly Acl[], names: NewNames): KindPlan<Acl> {
  const there = new Set(existing.map(aclKey))
  const sources = new Map(names.topics.map(({ target, source }) => [target, source]))
  const wanted = new Map<string, Planned<Acl>>()
  for (const acl of backed) {
    const kept = acl.patternType === 'PREFIXED' ? 'the prefix is kept' : 'the name is kept'
    const uncovered = listUncovered(acl, names).map(one => `${kept}: it ${describeUncovered(one)}`)
    for (const item of follow(acl, names)) {
      const key = aclKey(item)
      // Two rules can become one, where a topic takes the name of another.
      if (wanted.has(key) && wanted.get(key)?.decision !== 'cannot') continue
      const foreign = noteForeign(acl, item, sources)
      const decision = there.has(key) ? 'kept' : foreign.length > 0 ? 'cannot' : 'create'
      wanted.set(key, { item, decision, notes: [...noteName(acl, item), ...uncovered, ...foreign] })
    }
  }
  return { items: [...wanted.values()].sort((a, b) => rank(a) - rank(b)) }
}

/** The rule under all names that its topic gets. The latest incarnation has a name also where it is not restored. */
function follow(acl: Acl, { topics, topicMapping }: NewNames): Acl[] {
  if (acl.resourceType !== 'TOPIC' || acl.patternType !== 'LITERAL') return [acl]
  const { resourceName: name } = acl
  const restored = topics.filter(({ source }) => source === name)
  const isLatestRestored = restored.some(({ label }) => label === name)
  const targets = new Set([
    ...(isLatestRestored ? [] : [topicMapping.get(name) ?? name]),
    ...restored.map(({ target }) => target),
  ])
  return [...targets].map(resourceName => (resourceName === name ? acl : { ...acl, resourceName }))
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

/** Something that a rule covered at the source and does not cover on the target. */
interface Uncovered {
  source: string
  target: string
}

/** Pure. For rules that keep their names: those on a prefix, and on groups. */
export function listUncovered({ resourceType, patternType, resourceName }: Acl, names: NewNames): Uncovered[] {
  const isPrefixed = patternType === 'PREFIXED'
  const covers = (name: string) => (isPrefixed ? name.startsWith(resourceName) : name === resourceName)
  const isLeft = ({ source, target }: Uncovered) => covers(source) && !covers(target)
  if (resourceType === 'TOPIC' && isPrefixed) return names.topics.filter(isLeft)
  if (resourceType !== 'GROUP' || resourceName === '*') return []
  return [...names.groupMapping].map(([source, target]) => ({ source, target })).filter(isLeft)
}

export function describeUncovered({ source, target }: Uncovered): string {
  return `covered ${source}, and does not cover ${target}`
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
