import protobuf from 'protobufjs'
import { commonProto, knownProto } from './known-protos.ts'
import { leanProto, publicImportsOf } from './proto-text.ts'

/** A file of a registry, under the name that others import it by. */
export interface ProtoFile {
  name: string
  text: string
}

/** What one file declares. */
export interface ParsedProto {
  readonly name: string
  readonly root: protobuf.Root
  /** The package of the file; the root if it has none. */
  readonly place: protobuf.NamespaceBase
  /** Names of files, with those of public imports. */
  readonly imports: readonly string[]
  /** Files that import this one know what these declare, too. */
  readonly publicImports: ReadonlySet<string>
}

/**
 * Each file has its own root, so it is parsed without the others. The library would attach an extension to the message that
 * it finds by its name, but it searches more than Protobuf allows: `linkProtos` attaches extensions.
 */
class FileRoot extends protobuf.Root {
  /** The library calls it for each object of the tree. */
  protected _handleAdd(): void {}
}

/** Names are used as the file has them. */
const options = { keepCase: true }

/**
 * The file of the text, the given files, and the files that these import without being given, as far as they are known.
 * Throws an Error that says what is wrong in a text.
 */
export function parseProtos(text: string, given: readonly ProtoFile[]): ParsedProto[] {
  const files = [{ name: '', text }, ...given].map(parseProto)
  const found = new Set(given.map(({ name }) => name))
  for (const { imports } of files) {
    for (const name of imports) {
      if (found.has(name)) continue
      found.add(name)
      const known = parseKnown(name)
      if (known) files.push(known)
    }
  }
  return files
}

function parseProto({ name, text }: ProtoFile): ParsedProto {
  const root = new FileRoot()
  const lean = leanProto(text)
  const { package: packageName, imports = [], weakImports = [] } = parseQuickly(lean, root)
  return {
    name,
    root,
    place: packageName ? root.define(packageName) : root,
    imports: [...imports, ...weakImports],
    publicImports: publicImportsOf(lean),
  }
}

/**
 * To find a number that a message has twice, the library lists all fields of the message again for each that it adds. Meanwhile messages
 * have no numbers that it could find: `linkProtos` compares them once.
 */
function parseQuickly(text: string, root: protobuf.Root): protobuf.IParserResult {
  const none = {}
  const noNumbers = { configurable: true, get: () => none, set: () => {} }
  Object.defineProperty(protobuf.Type.prototype, '_fieldsById', noNumbers)
  try {
    return protobuf.parse(text, root, options)
  } finally {
    Reflect.deleteProperty(protobuf.Type.prototype, '_fieldsById')
  }
}

function parseKnown(name: string): ParsedProto | undefined {
  const text = knownProto(name)
  if (text !== undefined) return parseProto({ name, text })
  const common = commonProto(name)
  if (!common) return undefined
  const root = new FileRoot()
  root.addJSON(common)
  return { name, root, place: root.define('google.protobuf'), imports: [], publicImports: new Set() }
}
