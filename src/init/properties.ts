/** The keys and values of a Java properties file, in its own syntax. Files of librdkafka are a part of it. */
export function parseProperties(text: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const line of logicalLines(text)) {
    const [, key = '', value = ''] = /^((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)$/s.exec(line) ?? []
    if (key !== '') found.set(withoutEscapes(key), withoutEscapes(value).trimEnd())
  }
  return found
}

/** Without comments and empty lines; a backslash at the end of a line continues it. */
function logicalLines(text: string): string[] {
  const lines: string[] = []
  let open = ''
  for (const natural of text.split(/\r\n|\r|\n/)) {
    const line = natural.trimStart()
    if (open === '' && (line === '' || /^[#!]/.test(line))) continue
    const continues = /(?:^|[^\\])(?:\\\\)*\\$/.test(line)
    open += continues ? line.slice(0, -1) : line
    if (continues) continue
    lines.push(open)
    open = ''
  }
  return open === '' ? lines : [...lines, open]
}

const escapes: Record<string, string> = { t: '\t', n: '\n', r: '\r', f: '\f' }

function withoutEscapes(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, code?: string, character = '') =>
    code === undefined ? (escapes[character] ?? character) : String.fromCharCode(Number.parseInt(code, 16)),
  )
}

/** The options of a login module: `… required username="a" password='b';`. */
export function parseJaas(text: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const [, name = '', double, single, bare] of text.matchAll(
    /([A-Za-z_][\w.]*)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;]+))/g,
  )) {
    const quoted = double ?? single
    found.set(name, quoted === undefined ? (bare ?? '') : quoted.replace(/\\(.)/g, '$1'))
  }
  return found
}
