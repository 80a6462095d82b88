/**
 * Strings, comments, statements that say nothing about bytes, and what begins, ends or separates others. What is not closed lasts to
 * the end, so that it is read once. Values of enums and fields may be named like a statement, or have a type that is: then a `=` follows.
 */
const token =
  /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|'(?:[^'\\]|\\[\s\S]?)*(?:'|$)|\/\/[^\n]*|\/\*(?:[\s\S]*?\*\/|[\s\S]*$)|\b(?:option|(?:reserved|extensions)(?!\s*=|\s+\w+\s*=))(?![\w.])|[[\]{};]/g

/** As the parser accepts it: it would search the other text for the end of another one. */
const closedString = /^(["'])(?:[^\\]|\\.)*\1$/

/**
 * The text without comments, options and ranges of numbers, on the same lines. They say nothing about bytes, the parser does not know
 * all forms of options, such as the lists that Confluent's converters write, and it compares each with all others. Throws an Error
 * if one of them does not end.
 */
export function leanProto(text: string): string {
  let kept = ''
  let from = 0
  for (const [start, end] of needlessParts(text)) {
    kept += text.slice(from, start) + text.slice(start, end).replace(/[^\n]+/g, ' ')
    from = end
  }
  return kept + text.slice(from)
}

/** `[...]` is an option in every place. A word may also be the name of a field or type, unless it begins a statement. */
function* needlessParts(text: string): Generator<[start: number, end: number]> {
  let isStatement = true
  let last = 0
  let start = 0
  let closing = ''
  let depth = 0
  for (const { 0: found, index } of text.matchAll(token)) {
    isStatement &&= text.slice(last, index).trim() === ''
    last = index + found.length
    if (found.startsWith('/')) {
      if (closing === '') yield [index, last]
      continue
    }
    if (/^["']/.test(found) && !closedString.test(found)) throw new Error('there is a string that does not end')
    if (closing === '') {
      const isWord = /^\w/.test(found)
      if (found === '[' || (isWord && isStatement)) [start, closing, depth] = [index, isWord ? ';' : ']', 0]
      isStatement = '{};'.includes(found)
    } else if (depth === 0 && found === closing) {
      if (closing === ']' || !allowsAlias(text.slice(start, last))) yield [start, last]
      isStatement = closing === ';'
      closing = ''
    } else if ('[{'.includes(found)) depth++
    else if (']}'.includes(found)) depth--
    if (depth < 0) break
  }
  if (closing !== '') throw new Error('there is an option that does not end')
}

/** An enum needs the option to be parsed. */
function allowsAlias(statement: string): boolean {
  const lean = statement.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, ' ')
  return /^option\s+allow_alias\s*=\s*true\s*;$/.test(lean)
}

const publicImport =
  /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|'(?:[^'\\]|\\[\s\S]?)*(?:'|$)|\bimport\s+public\s*(?:"([^"]*)"|'([^']*)')/g

/** Names of the files that `import public` names, in a text without comments: the parser does not distinguish them from others. */
export function publicImportsOf(lean: string): Set<string> {
  const names = [...lean.matchAll(publicImport)].map(([, double, single]) => double ?? single)
  return new Set(names.filter(name => name !== undefined))
}
