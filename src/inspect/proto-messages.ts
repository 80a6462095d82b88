import protobuf from 'protobufjs'
import { addCommon, knownProto } from './known-protos.ts'

/** A file of a registry, under the name that others import it by. */
export interface ProtoFile {
  name: string
  text: string
}

/** Names are used as the file has them. */
const options = { keepCase: true }

/**
 * The messages of a file. Only the parser of the library is used: to decode, it would generate code from the schema, and a
 * schema in a backup is untrusted input.
 */
export class ProtoMessages {
  readonly #top: readonly protobuf.Type[]

  /** `imports` are all files that it needs, directly or not. Throws an Error that says what is wrong in them. */
  constructor(text: string, imports: readonly ProtoFile[]) {
    const root = new protobuf.Root()
    const parse = (file: string) => protobuf.parse(parseable(file), root, options)
    const files = [...imports, ...knownImports([text, ...imports.map(file => file.text)], imports)]
    const own = new Set(files.map(({ name }) => name))
    const wanted = new Set([text, ...files.map(file => file.text)].flatMap(importsOf))
    for (const name of wanted) if (!own.has(name)) addCommon(root, name)
    for (const file of files) parse(file.text)
    parse(text)
    root.resolveAll()
    this.#top = ownMessages(text, root)
  }

  /** The message that indexes lead to: the first counts the messages of the file, the next those inside that one. */
  find(indexes: readonly number[]): protobuf.Type {
    let level = this.#top
    let found: protobuf.Type | undefined
    for (const index of indexes) {
      found = level[index]
      if (!found) throw new RangeError(`the schema has no message with the index ${indexes.join(', ')}`)
      level = found.nestedArray.filter(nested => nested instanceof protobuf.Type)
    }
    if (!found) throw new RangeError('no message is named')
    return found
  }
}

/** Files that a registry need not have. They import nothing but those of the library. */
function knownImports(texts: readonly string[], imports: readonly ProtoFile[]): ProtoFile[] {
  const given = new Set(imports.map(({ name }) => name))
  return [...new Set(texts.flatMap(importsOf))].flatMap(name => {
    const text = given.has(name) ? undefined : knownProto(name)
    return text === undefined ? [] : [{ name, text }]
  })
}

function importsOf(text: string): string[] {
  const { imports = [], weakImports = [] } = protobuf.parse(parseable(text), new protobuf.Root(), options)
  return [...imports, ...weakImports]
}

/** In the order of the file, which the indexes count by; files that it imports may be of the same package. */
function ownMessages(text: string, root: protobuf.Root): protobuf.Type[] {
  const alone = new protobuf.Root()
  const { package: packageName = '' } = protobuf.parse(parseable(text), alone, options)
  const prefix = packageName === '' || packageName === null ? '' : `${packageName}.`
  const place = prefix === '' ? alone : alone.lookup(packageName)
  if (!(place instanceof protobuf.Namespace)) return []
  return place.nestedArray
    .filter(nested => nested instanceof protobuf.Type)
    .map(({ name }) => root.lookupType(`${prefix}${name}`))
}

/** Strings, comments, and what begins, ends or separates options. What is not closed lasts to the end, so that it is read once. */
const token =
  /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|'(?:[^'\\]|\\[\s\S]?)*(?:'|$)|\/\/[^\n]*|\/\*(?:[\s\S]*?\*\/|[\s\S]*$)|\boption\s*\(|[[\]{};]/g

/**
 * Without custom options, which say nothing about bytes: the parser does not know all forms of their values, such as the lists that
 * Confluent's converters write. `[...]` is an option in every place; of statements those with a name in parentheses are.
 */
function parseable(text: string): string {
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
