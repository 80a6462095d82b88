import protobuf from 'protobufjs'
import descriptor from 'protobufjs/ext/descriptor/index.js'
import type { VendorAnswer, VendorRequest } from './vendor-script.ts'

/**
 * For `format=serialized` Confluent and AxonOps answer with a Protobuf schema as a FileDescriptorProto in base64. Imports
 * are not resolved.
 */
export function serializing(
  answer: (request: VendorRequest) => VendorAnswer,
): (request: VendorRequest) => VendorAnswer {
  return request => {
    const plain = answer(ignoringFormat(request))
    if (request.query.get('format') !== 'serialized' || !('json' in plain)) return plain
    const { schema, schemaType, ...rest } = Object(plain.json)
    if (schemaType !== 'PROTOBUF') return plain
    return { ...plain, json: { ...rest, schemaType, schema: serialize(String(schema)) } }
  }
}

export function ignoringFormat(request: VendorRequest): VendorRequest {
  const query = new URLSearchParams(request.query)
  query.delete('format')
  return { ...request, query }
}

function serialize(text: string): string {
  const { root } = protobuf.parse(text)
  const { file } = (root as unknown as Describable).toDescriptor('proto3')
  const [last] = file.slice(-1)
  if (!last) throw new Error('the schema has no types')
  return Buffer.from(descriptor.FileDescriptorProto.encode(last).finish()).toString('base64')
}

/** What the extension adds to a root, which its types do not tell. */
interface Describable {
  toDescriptor(syntax: string): { file: protobuf.Message[] }
}
