import protobuf from 'protobufjs'
import type { ParsedProto } from './proto-files.ts'

/** A package with what all files declare in it. */
class Package {
  readonly outer: Package | undefined
  readonly files = new Set<ParsedProto>()
  readonly inner = new Map<string, Package>()
  readonly declared = new Map<string, { object: protobuf.ReflectionObject; file: ParsedProto }>()

  constructor(outer?: Package) {
    this.outer = outer
  }
}

type Named = Package | protobuf.ReflectionObject
type Files = ReadonlySet<ParsedProto>

/** The names of all files. */
export class ProtoNames {
  readonly #files: Files
  readonly #root = new Package()
  readonly #packages = new Map<protobuf.ReflectionObject, Package>()
  readonly #known = new Map<ParsedProto, Files>()

  /** Throws an Error if two files declare one name. */
  constructor(files: readonly ParsedProto[]) {
    this.#files = new Set(files)
    for (const file of files) this.#add(file.root, this.#root, file)
    const byName = Map.groupBy(files, ({ name }) => name)
    for (const file of files) this.#known.set(file, knownTo(file, byName))
  }

  /**
   * The type that `name` means in `scope`, as protoc finds it: the innermost scope that has the first part of the name decides,
   * and the other parts are followed exactly. Only files count that `file` imports. A name that they do not explain may be of any
   * other file, because a registry may keep schemas that protoc refuses.
   */
  find(name: string, scope: protobuf.NamespaceBase, file: ParsedProto): protobuf.Type | protobuf.Enum | undefined {
    const parts = name.split('.')
    return this.#find(parts, scope, this.#known.get(file) ?? this.#files) ?? this.#find(parts, scope, this.#files)
  }

  #add(from: protobuf.NamespaceBase, to: Package, file: ParsedProto): void {
    this.#packages.set(from, to)
    to.files.add(file)
    for (const object of from.nestedArray) {
      const { name } = object
      const isInner = isPackage(object)
      if (to.declared.has(name) || (!isInner && to.inner.has(name)))
        throw new Error(`duplicate name '${name}' in ${from}`)
      if (!isInner) to.declared.set(name, { object, file })
      else {
        const inner = to.inner.get(name) ?? new Package(to)
        to.inner.set(name, inner)
        this.#add(object, inner, file)
      }
    }
  }

  #find([first = '', ...rest]: readonly string[], scope: protobuf.NamespaceBase, known: Files): TypeOrEnum | undefined {
    if (first === '') return follow(this.#root, rest, known)
    for (let at: Named | undefined = this.#packages.get(scope) ?? scope; at; at = this.#outer(at)) {
      const found = inside(at, first, known)
      if (rest.length === 0 ? isType(found) : isScope(found)) return follow(found, rest, known)
    }
    return undefined
  }

  #outer(at: Named): Named | undefined {
    if (at instanceof Package) return at.outer
    return at.parent ? (this.#packages.get(at.parent) ?? at.parent) : undefined
  }
}

type TypeOrEnum = protobuf.Type | protobuf.Enum

/** The file itself, those that it imports, and those that they import publicly. */
function knownTo(file: ParsedProto, byName: ReadonlyMap<string, readonly ParsedProto[]>): Files {
  const known = new Set([file, ...file.imports.flatMap(name => byName.get(name) ?? [])])
  for (const one of known) {
    if (one === file) continue
    for (const name of one.publicImports) for (const next of byName.get(name) ?? []) known.add(next)
  }
  return known
}

function follow(from: Named | undefined, path: readonly string[], known: Files): TypeOrEnum | undefined {
  let at = from
  for (const name of path) at = at && inside(at, name, known)
  return isType(at) ? at : undefined
}

function inside(at: Named, name: string, known: Files): Named | undefined {
  if (at instanceof Package) {
    const declared = at.declared.get(name)
    if (declared) return known.has(declared.file) ? declared.object : undefined
    const inner = at.inner.get(name)
    return inner && !known.isDisjointFrom(inner.files) ? inner : undefined
  }
  const { nested } = at instanceof protobuf.Namespace ? at : {}
  return nested && Object.hasOwn(nested, name) ? nested[name] : undefined
}

function isPackage(object: protobuf.ReflectionObject): object is protobuf.Namespace {
  return (
    object instanceof protobuf.Namespace && !(object instanceof protobuf.Type || object instanceof protobuf.Service)
  )
}

function isType(found: Named | undefined): found is TypeOrEnum {
  return found instanceof protobuf.Type || found instanceof protobuf.Enum
}

/** What may have names inside, so that an outer one does not count. */
function isScope(found: Named | undefined): boolean {
  return found instanceof Package || found instanceof protobuf.Namespace || found instanceof protobuf.Enum
}
