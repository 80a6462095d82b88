import protobuf from 'protobufjs'
import type { ParsedProto } from './proto-files.ts'
import { ProtoNames } from './proto-names.ts'

/** With the names of packages and messages around it. An extension has them in its own name, so a schema could take all memory. */
const MAX_NAME = 1_000

/**
 * Gives each field the type that its name means, and each message its extensions. The library could do it, but does not keep to the
 * scopes of Protobuf, and generates code from the schema. Throws an Error if a name means nothing.
 */
export function linkProtos(files: readonly ParsedProto[]): void {
  const names = new ProtoNames(files)
  for (const file of files) {
    visit(file.root, object => {
      if (object instanceof protobuf.Type) for (const field of Object.values(object.fields)) link(field, names, file)
      else if (object instanceof protobuf.Field) extend(object, names, file)
    })
  }
  for (const { root } of files) visit(root, checkNumbers)
}

function visit(from: protobuf.NamespaceBase, act: (object: protobuf.ReflectionObject) => void, length = 0): void {
  for (const object of from.nestedArray) {
    const nameLength = length + object.name.length + 1
    if (nameLength > MAX_NAME) throw new Error(`it has a name of more than ${MAX_NAME} characters`)
    act(object)
    if (object instanceof protobuf.Namespace) visit(object, act, nameLength)
  }
}

function link(field: protobuf.Field, names: ProtoNames, file: ParsedProto): void {
  const { type, parent } = field
  if (type in protobuf.types.basic || !parent) return
  const found = names.find(type, parent, file)
  if (!found) throw new Error(`no such Type or Enum '${type}' in ${parent}`)
  field.resolvedType = found
}

/** The extended message shows the field under its full name. */
function extend(field: protobuf.Field, names: ProtoNames, file: ParsedProto): void {
  const { extend = '', parent, fullName, id, type, repeated } = field
  const extended = parent && names.find(extend, parent, file)
  if (!(extended instanceof protobuf.Type)) {
    throw new Error(`unresolvable extensions: 'extend ${extend}' in ${parent?.fullName}`)
  }
  link(field, names, file)
  const extension = new protobuf.Field(fullName, id, type, repeated ? 'repeated' : undefined)
  extension.resolvedType = field.resolvedType
  extended.fields[fullName] = extension
}

function checkNumbers(object: protobuf.ReflectionObject): void {
  if (!(object instanceof protobuf.Type)) return
  const seen = new Set<number>()
  for (const { id } of Object.values(object.fields)) {
    if (seen.has(id)) throw new Error(`duplicate id ${id} in ${object}`)
    seen.add(id)
  }
}
