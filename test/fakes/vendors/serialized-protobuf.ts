import type { VendorAnswer, VendorRequest } from './vendor-script.ts'

/**
 * For `format=serialized` Confluent and AxonOps answer with a Protobuf schema as a FileDescriptorProto in base64. This has
 * the names of it alone: a package, and messages without their fields.
 */
export function serializing(
  answer: (request: VendorRequest) => VendorAnswer,
): (request: VendorRequest) => VendorAnswer {
  return request => {
    const plain = answer(ignoringFormat(request))
    if (request.query.get('format') !== 'serialized' || !('json' in plain)) return plain
    const { schema, schemaType, ...rest } = Object(plain.json)
    if (schemaType !== 'PROTOBUF') return plain
    return { ...plain, json: { ...rest, schemaType, schema: serialize(String(schema)).toString('base64') } }
  }
}

export function ignoringFormat(request: VendorRequest): VendorRequest {
  const query = new URLSearchParams(request.query)
  query.delete('format')
  return { ...request, query }
}

/**
 *   FileDescriptorProto => 1 name, 2 package, 4 message types, 12 syntax
 *   DescriptorProto     => 1 name
 */
function serialize(text: string): Buffer {
  const [, name = ''] = /\bpackage\s+([\w.]+)\s*;/.exec(text) ?? []
  const [, syntax = 'proto2'] = /\bsyntax\s*=\s*"(\w+)"/.exec(text) ?? []
  const messages = [...text.matchAll(/\bmessage\s+(\w+)/g)].map(([, message = '']) => field(4, field(1, message)))
  return Buffer.concat([field(1, 'default.proto'), field(2, name), ...messages, field(12, syntax)])
}

/** With a length, which is below 128 here. */
function field(number: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes])
}
