import { readMessageIndexes } from '../registry/ids/schema-id.ts'
import { type ProtoFile, ProtoMessages } from './proto-messages.ts'
import { readProto } from './read-proto.ts'

/** Messages are not nested deeper, and a long list must not become a long reason. */
const MAX_INDEXES = 64

/** Decodes what a serializer has written with the schema, which needs these files. */
export function protoDecoder(text: string, imports: readonly ProtoFile[]): (payload: Buffer) => unknown {
  const messages = new ProtoMessages(text, imports)
  return payload => decodeProto(messages, payload)
}

/** What a serializer writes behind the ID of a schema: indexes of the message, zigzag or, of old clients, plain; then the message. */
function decodeProto(messages: ProtoMessages, payload: Buffer): unknown {
  let failure: unknown
  for (const isZigzag of [true, false]) {
    try {
      const found = readMessageIndexes(payload, isZigzag)
      if (!found) throw new RangeError('it does not say which message it is')
      if (found.indexes.length > MAX_INDEXES)
        throw new RangeError(`it claims ${found.indexes.length} indexes of messages`)
      return readProto(messages.find(found.indexes), payload.subarray(found.end))
    } catch (error) {
      failure ??= error
    }
  }
  throw failure
}
