import { compileGlobs, isPattern } from '../lib/glob.ts'

/** The names that a job selects: `*` and `?` are wildcards. */
export interface NameSelection {
  include: readonly string[]
  exclude: readonly string[]
  /** Names on the target, by names in the backup. */
  mapping?: ReadonlyMap<string, string>
  /** The field of the job, for notes. */
  field: string
}

/** The names that one ACL is about. The literal name `*` stands for all. */
export interface AclNames {
  name: string
  pattern: 'literal' | 'prefixed'
}

/**
 * Pure. The fewest literal and prefixed names that cover a selection. ACLs know no other patterns and no exceptions: notes say
 * where the names cover more than the selection does.
 */
export function coverSelection({ include, exclude, mapping = new Map(), field }: NameSelection): {
  names: AclNames[]
  notes: string[]
} {
  const isExcluded = compileGlobs(exclude)
  const patterns = include.filter(isPattern)
  const isIncluded = compileGlobs(include)
  const literals = include.filter(entry => !isPattern(entry) && !isExcluded(entry))
  const mapped = [...mapping].filter(([name]) => isIncluded(name) && !isExcluded(name)).map(([, target]) => target)
  const kept = literals.filter(name => !mapping.has(name))
  const needed = [...[...kept, ...mapped].map(literal), ...patterns.map(coverPattern)]
  const wider = patterns.filter(pattern => pattern !== '*' && !/^[^*?]+\*$/.test(pattern))
  return {
    names: withoutCovered(needed),
    notes: [
      ...wider.map(pattern => `${field}.include: ${pattern} needs a rule on ${describeNames(coverPattern(pattern))}`),
      ...(patterns.length > 0 && exclude.length > 0
        ? [`${field}.exclude does not narrow the rules: an ACL has no exceptions`]
        : []),
    ],
  }
}

const literal = (name: string): AclNames => ({ name, pattern: 'literal' })

/** What is before the first wildcard. */
function coverPattern(pattern: string): AclNames {
  const prefix = pattern.slice(0, pattern.search(/[*?]/))
  return prefix === '' ? literal('*') : { name: prefix, pattern: 'prefixed' }
}

/** Pure. Of two that cover the same names, the first stays. */
export function withoutCovered(names: readonly AclNames[]): AclNames[] {
  const isCovered = (one: AclNames, at: number) =>
    names.some((other, place) => place !== at && covers(other, one) && (!covers(one, other) || place < at))
  return names.filter((one, at) => !isCovered(one, at))
}

function covers(wide: AclNames, narrow: AclNames): boolean {
  if (wide.pattern === 'literal')
    return wide.name === '*' || (narrow.pattern === 'literal' && narrow.name === wide.name)
  return narrow.name.startsWith(wide.name) && !(narrow.pattern === 'literal' && narrow.name === '*')
}

function describeNames({ name, pattern }: AclNames): string {
  if (pattern === 'prefixed') return `all names that begin with ${name}`
  return name === '*' ? 'all names' : name
}
