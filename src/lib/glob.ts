/** Name patterns as users of Kafka tools write them: `*` is any run of characters, `?` is one; all else is literal. */
export function isPattern(text: string): boolean {
  return /[*?]/.test(text)
}

export function compileGlob(pattern: string): (name: string) => boolean {
  return isPattern(pattern) ? name => matchesGlob(pattern, name) : name => name === pattern
}

/**
 * One pass with a single point to go back to, the last star: a regular expression would try every way to share the name
 * out among the stars, which a pattern of twenty turns into minutes.
 */
function matchesGlob(pattern: string, name: string): boolean {
  let at = 0
  let star = -1
  let resumeAt = 0
  for (let i = 0; i < name.length; ) {
    if (pattern[at] === '*') {
      star = at++
      resumeAt = i
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === name[i])) {
      at++
      i++
    } else if (star >= 0) {
      at = star + 1
      i = ++resumeAt
    } else {
      return false
    }
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}

/** Whether the pattern may match a name that begins so. */
export function mayMatchWith(pattern: string, prefix: string): boolean {
  const [literal = ''] = pattern.split(/[*?]/, 1)
  return literal.startsWith(prefix) || (isPattern(pattern) && prefix.startsWith(literal))
}

/** Whether the pattern matches every name that begins so. */
export function matchesAllWith(pattern: string, prefix: string): boolean {
  return pattern.endsWith('*') && matchesGlob(pattern, prefix)
}

export function compileGlobs(patterns: readonly string[]): (name: string) => boolean {
  const matchers = patterns.map(compileGlob)
  return name => matchers.some(matches => matches(name))
}
