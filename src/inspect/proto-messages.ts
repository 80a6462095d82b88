import protobuf from 'protobufjs'

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
    const wanted = new Set([text, ...imports.map(file => file.text)].flatMap(importsOf))
    for (const { name } of imports) wanted.delete(name)
    for (const name of wanted) root.addJSON(protobuf.common.get(name)?.nested ?? {})
    for (const file of imports) protobuf.parse(file.text, root, options)
    protobuf.parse(text, root, options)
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

function importsOf(text: string): string[] {
  const { imports = [], weakImports = [] } = protobuf.parse(text, new protobuf.Root(), options)
  return [...imports, ...weakImports]
}

/** In the order of the file, which the indexes count by; files that it imports may be of the same package. */
function ownMessages(text: string, root: protobuf.Root): protobuf.Type[] {
  const alone = new protobuf.Root()
  const { package: packageName = '' } = protobuf.parse(text, alone, options)
  const prefix = packageName === '' || packageName === null ? '' : `${packageName}.`
  const place = prefix === '' ? alone : alone.lookup(packageName)
  if (!(place instanceof protobuf.Namespace)) return []
  return place.nestedArray
    .filter(nested => nested instanceof protobuf.Type)
    .map(({ name }) => root.lookupType(`${prefix}${name}`))
}
