import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit, type YAMLError } from 'yaml'
import type { FieldPath } from './problem.ts'

/** A parsed YAML text: its plain data, and the position of each field. */
export interface YamlSource {
  tree: unknown
  /** The line of a field, or of the nearest field around it that is there; undefined for the text as a whole. */
  lineOf(path: FieldPath): number | undefined
}

/** The texts carry no word of the source: a line of a job file may hold a secret. */
export interface YamlFault {
  line: number
  column: number
  wrong: string
}

export function parseYaml(text: string): YamlSource | { faults: YamlFault[] } {
  const lines = new LineCounter()
  const document = openDocument(text, lines)
  const faults = [...document.errors, ...document.warnings].map(error => ({
    ...place(lines, error.pos[0]),
    wrong: explain(error, text),
  }))
  for (const position of unresolvedAliases(document)) {
    faults.push({ ...place(lines, position), wrong: aliasAdvice })
  }
  if (faults.length > 0) return { faults }
  const tree = toPlain(document)
  if ('wrong' in tree) return { faults: [{ line: 1, column: 1, wrong: tree.wrong }] }
  return { tree: tree.value, lineOf: path => lineOf(document, lines, path) }
}

/** One value in flow style, as `--set` takes it; its scalars come as the text that was written, quotes taken off. */
export function parseFragment(text: string): { value: unknown } | { wrong: string } {
  const document = openDocument(text, new LineCounter())
  const [fault] = [...document.errors, ...document.warnings]
  if (fault !== undefined) return { wrong: explain(fault, text) }
  if (unresolvedAliases(document).length > 0) return { wrong: aliasAdvice }
  visit(document, {
    Scalar: (key, node) => {
      if (key !== 'key' && node.value !== null && node.source !== undefined) node.value = node.source
    },
  })
  return toPlain(document)
}

function openDocument(text: string, lineCounter: LineCounter) {
  const strict = { strict: true, uniqueKeys: true, stringKeys: true, prettyErrors: false } as const
  return parseDocument(text, { version: '1.2', schema: 'core', ...strict, lineCounter, logLevel: 'error' })
}

const aliasAdvice = 'an alias (*name) has no anchor (&name) before it; put quotes around a text that begins with *'

function unresolvedAliases(document: Document): number[] {
  const positions: number[] = []
  visit(document, {
    Alias: (_, node) => {
      if (node.resolve(document) === undefined) positions.push(node.range?.[0] ?? 0)
    },
  })
  return positions
}

/** Fails only where aliases of aliases would unfold into too much data. */
function toPlain(document: Document): { value: unknown } | { wrong: string } {
  try {
    return { value: document.toJS() }
  } catch {
    return { wrong: 'the aliases (*name) of the file refer to too much data or to each other' }
  }
}

function place(lines: LineCounter, position: number): { line: number; column: number } {
  const { line, col } = lines.linePos(position)
  return { line, column: col }
}

const advice: Partial<Record<YAMLError['code'], string>> = {
  BAD_ALIAS: aliasAdvice,
  BAD_COLLECTION_TYPE: 'a tag does not fit what follows it',
  BAD_DQ_ESCAPE: 'a backslash in double quotes begins no known escape; write \\\\ or use single quotes',
  BAD_INDENT: 'the indentation does not fit, or a [ or { or quote before it is not closed',
  BAD_SCALAR_START: 'a text may not begin with this character; put quotes around it',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " in one line; put quotes around a text that contains it',
  BLOCK_IN_FLOW: 'an indented block inside [ ] or { }',
  MISSING_CHAR: 'a character is missing, such as a closing quote, a comma, or the space after ":"',
  MULTILINE_IMPLICIT_KEY: 'a line without ": " before a field; is a colon, or the space after it, missing?',
  MULTIPLE_DOCS: 'a second document begins (---); a job file holds one',
  NON_STRING_KEY: 'a key that is not a text; put quotes around it',
  TAB_AS_INDENT: 'a tab in the indentation; use spaces',
  TAG_RESOLVE_FAILED: 'a tag (!name) is not known; put quotes around a text that begins with !',
  UNEXPECTED_TOKEN: 'unexpected text here; put quotes around a text with special characters',
}

function explain(error: YAMLError, text: string): string {
  if (error.code !== 'DUPLICATE_KEY') return advice[error.code] ?? 'this is not valid YAML'
  const key = /^(?:"([^"\n]*)"|'([^'\n]*)'|([\w.-]+))/.exec(text.slice(error.pos[0]))
  return `the key \`${key?.[1] ?? key?.[2] ?? key?.[3] ?? ''}\` is given a second time in the same map`
}

function lineOf(document: Document, lines: LineCounter, path: FieldPath): number | undefined {
  let node: unknown = document.contents
  let position: number | undefined
  for (const segment of path) {
    if (isAlias(node)) node = node.resolve(document)
    let found: { at: number | undefined; node: unknown } | undefined
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(segment))
      found = pair && isScalar(pair.key) ? { at: pair.key.range?.[0], node: pair.value } : undefined
    } else if (isSeq(node)) {
      const item = node.items[Number(segment)]
      found = item === undefined ? undefined : { at: startOf(item), node: item }
    }
    if (found === undefined) break
    position = found.at
    node = found.node
  }
  return position === undefined ? undefined : place(lines, position).line
}

function startOf(node: unknown): number | undefined {
  return typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)
    ? node.range[0]
    : undefined
}
