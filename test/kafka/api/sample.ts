import { join } from 'node:path'
import type { Api } from '../../../src/kafka/wire/api.ts'
import { Reader } from '../../../src/kafka/wire/reader.ts'

/**
 * A request of ours, and what it is in the words of Kafka's message definitions, together with an answer to it. `name@4` is a
 * field from version 4 on, `name@0@3` one up to version 3.
 */
export interface Sample {
  api: Api<never, unknown>
  request: unknown
  kafka: { request: Record<string, unknown>; response: Record<string, unknown> }
}

/** By request and version: the bytes that Kafka's classes wrote, in hex, and what our codec makes of the answer. */
export type Samples = Record<string, Record<string, { request: string; response: string; decoded: unknown }>>

export const samplesFile = join(import.meta.dirname, 'samples.json')

export const hexId = '000102030405060708090a0b0c0d0e0f'
export const id = Buffer.from(hexId, 'hex').toString('base64url')
export const throttleTimeMs = 7
export const none = { errorCode: 0, errorMessage: null }

export function sample<Request>(api: Api<Request, unknown>, request: Request, kafka: Sample['kafka']): Sample {
  return { api: api as Api<never, unknown>, request, kafka }
}

/** What Kafka's classes are given for each version. */
export function sampleVersions({ api, kafka }: Sample): Record<string, unknown> {
  const versions = Array.from({ length: api.newest - api.oldest + 1 }, (_, i) => api.oldest + i)
  return Object.fromEntries(versions.map(version => [version, inVersion(kafka, version)]))
}

function inVersion(value: unknown, version: number): unknown {
  if (Array.isArray(value)) return value.map(one => inVersion(one, version))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).flatMap(([key, one]) => {
    const [name, from = '0', to = '99'] = key.split('@')
    return version >= Number(from) && version <= Number(to) ? [[name, inVersion(one, version)]] : []
  })
  return Object.fromEntries(fields)
}

export function decodeSample({ api, request }: Sample, version: number, response: string): unknown {
  const reader = new Reader(Buffer.from(response, 'hex'), { isFlexible: version >= api.flexibleFrom })
  return plain(api.decode(reader, version, request as never))
}

/** As JSON can hold it: 64-bit integers as `42n`, bytes in hex, and no fields without a value. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (Buffer.isBuffer(value)) return value.toString('hex')
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([, one]) => one !== undefined)
  return Object.fromEntries(fields.map(([key, one]) => [key, plain(one)]))
}
