/** Strings, comments, and what begins, ends or separates options. What is not closed lasts to the end, so that it is read once. */
const token =
  /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|'(?:[^'\\]|\\[\s\S]?)*(?:'|$)|\/\/[^\n]*|\/\*(?:[\s\S]*?\*\/|[\s\S]*$)|\boption\s*\(|[[\]{};]/g

/**
 * Without custom options, which say nothing about bytes: the parser does not know all forms of their values, such as the lists that
 * Confluent's converters write. `[...]` is an option in every place; of statements those with a name in parentheses are.
 */
export function withoutCustomOptions(text: string): string {
  if (!/\(\s*[\w.]+\s*\)/.test(text)) return text
  let kept = ''
  let from = 0
  let depth = 0
  let end = ''
  for (const { 0: found, index } of text.matchAll(token)) {
    const isOpening = found === '[' || found === '{'
    if (end === '' && (found === '[' || found.startsWith('option'))) {
      kept += text.slice(from, index)
      end = found === '[' ? ']' : ';'
      depth = 0
    } else if (end !== '' && depth === 0 && found === end) {
      from = index + 1
      end = ''
    } else if (end !== '' && isOpening) depth++
    else if (end !== '' && (found === ']' || found === '}')) depth--
  }
  return end === '' ? kept + text.slice(from) : text
}

const publicImport =
  /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|'(?:[^'\\]|\\[\s\S]?)*(?:'|$)|\/\/[^\n]*|\/\*(?:[\s\S]*?\*\/|[\s\S]*$)|\bimport\s+public\s*(?:"([^"]*)"|'([^']*)')/g

/** Names of the files that `import public` names: the parser does not distinguish them from others. */
export function publicImportsOf(text: string): Set<string> {
  const names = [...text.matchAll(publicImport)].map(([, double, single]) => double ?? single)
  return new Set(names.filter(name => name !== undefined))
}
