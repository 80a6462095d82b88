import { compileGlob, compileGlobs, isPattern } from '../lib/glob.ts'
import { isRegistryStoreName } from '../registry/own-topic.ts'
import type { TopicSelection } from './backup-options.ts'

export interface Selected {
  names: string[]
  /** Literal names that no topic has. */
  missing: string[]
  /** Patterns that no topic matched. */
  idlePatterns: string[]
  /** Topics of schema registries that a pattern matched, and which are not taken. */
  leftOut: string[]
}

/**
 * Pure. A topic is taken when an include pattern matches and no exclude pattern does. Internal topics belong to the
 * cluster that made them, and those of schema registries to the registry that writes them, so a wildcard passes them over;
 * one that is named literally is taken.
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
  const leftOut = external.map(({ name }) => name).filter(name => isRegistryStoreName(name) && !literals.has(name))
  const isOwn = new Set([...topics.filter(({ internal }) => internal).map(({ name }) => name), ...leftOut])
  return {
    names: topics
      .filter(({ name }) => literals.has(name) || (!isOwn.has(name) && matchesPattern(name)))
      .map(topic => topic.name)
      .filter(name => !isExcluded(name))
      .sort(),
    missing: [...literals].filter(name => !known.has(name) && !isExcluded(name)),
    idlePatterns: patterns.filter(pattern => !external.some(({ name }) => compileGlob(pattern)(name))),
    leftOut: leftOut.filter(name => matchesPattern(name) && !isExcluded(name)).sort(),
  }
}
