import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Api } from '../../../src/kafka/wire/api.ts'
import { Reader } from '../../../src/kafka/wire/reader.ts'
import { Writer } from '../../../src/kafka/wire/writer.ts'

export const id = '000102030405060708090a0b0c0d0e0f'
/** One tagged field that nobody here knows: tag 9 with two bytes. */
export const unknownTag = '010902ffff'

/** Fields side by side, one for each part. */
export const hex = (...fields: string[]) => fields.join('')

export interface Case<Request, Response> {
  api: Api<Request, Response>
  /** The newest where it is not given. */
  version?: number
  request: Request
  /** Field by field in hex, worked out by hand from Kafka's message definitions. */
  encoded: string[]
  answer: string[]
  decoded: Response
}

export function describeCodec<Request, Response>(
  name: string,
  { api, request, encoded, answer, decoded, version = api.newest }: Case<Request, Response>,
) {
  const isFlexible = version >= api.flexibleFrom
  const read = (bytes: Buffer) => api.decode(new Reader(bytes, { isFlexible }), version, request)
  describe(name, () => {
    const bytes = Buffer.from(answer.join(''), 'hex')

    test('a request has the bytes that the protocol defines', () => {
      const writer = new Writer({ isFlexible })
      api.encode(writer, request, version)
      assert.equal(writer.finish().toString('hex'), encoded.join(''))
    })

    test('an answer is read, with tags that nobody knows', () => {
      assert.deepEqual(read(bytes), decoded)
    })

    test('an answer that is cut off is KAFKA_PROTOCOL or lacks nothing that is used', () => {
      let refused = 0
      for (let length = 0; length < bytes.length; length++) {
        try {
          assert.deepEqual(read(bytes.subarray(0, length)), decoded)
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'KAFKA_PROTOCOL', `${length} bytes: ${error}`)
          refused++
        }
      }
      assert.ok(refused > bytes.length / 2)
    })
  })
}
