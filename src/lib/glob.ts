/** Name patterns as users of Kafka tools write them: `*` is any run of characters, `?` is one; all else is literal. */
export function isPattern(text: string): boolean {
  return /[*?]/.test(text)
}

export function compileGlob(pattern: string): (name: string) => boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replace(/\?/g, '.')
  const expression = new RegExp(`^${source}$`, 's')
  return name => expression.test(name)
}

export function compileGlobs(patterns: readonly string[]): (name: string) => boolean {
  const matchers = patterns.map(compileGlob)
  return name => matchers.some(matches => matches(name))
}
