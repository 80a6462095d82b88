import { compileGlob, compileGlobs, isPattern } from '../lib/glob.ts'
import type { TopicSelection } from './options.ts'

export interface Selected {
  names: string[]
  /** Literal names that no topic has. */
  missing: string[]
  /** Patterns that no topic matched. */
  idlePatterns: string[]
}

/**
 * Pure. A topic is taken when an include pattern matches and no exclude pattern does. Internal topics belong to the
 * cluster that made them, so a wildcard passes them over; one that is named literally is taken.
 */
export function selectTopics(
  selection: TopicSelection,
  topics: readonly { name: string; internal: boolean }[],
): Selected {
  const isExcluded = compileGlobs(selection.exclude)
  const literals = new Set(selection.include.filter(entry => !isPattern(entry)))
  const patterns = selection.include.filter(isPattern)
  const matchesPattern = compileGlobs(patterns)
  const known = new Set(topics.map(topic => topic.name))
  const external = topics.filter(topic => !topic.internal)
  return {
    names: topics
      .filter(({ name, internal }) => literals.has(name) || (!internal && matchesPattern(name)))
      .map(topic => topic.name)
      .filter(name => !isExcluded(name))
      .sort(),
    missing: [...literals].filter(name => !known.has(name) && !isExcluded(name)),
    idlePatterns: patterns.filter(pattern => !external.some(({ name }) => compileGlob(pattern)(name))),
  }
}
