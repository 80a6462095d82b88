import { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import { openRegistryServer, type RegistryServer } from '../../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../../src/registry/serve/registry-store.ts'
import type { Compression, SeedRecord } from '../servers/driver.ts'

type SchemaType = 'AVRO' | 'JSON' | 'PROTOBUF'

/** A schema as it is registered; references are `[name, subject, version]`. */
interface Draft {
  subject: string
  type: SchemaType
  schema: string
  references?: [string, string, number][]
}

/** One message: what the stock serializer was given, and what it made of it. */
export interface Message {
  key: unknown
  /** Undefined for a tombstone. */
  value: unknown
  record: SeedRecord
}

export interface WorldTopic {
  name: string
  /** Of its schemas; `.` is the default one. */
  context: string
  compression: Compression
  partitions: number
  messages: Message[]
}

export interface World {
  registry: RegistryServer
  requests: string[]
  topics: WorldTopic[]
  subjects: string[]
}

export const PARTITIONS = 2
const codecs: Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

export interface WatchedRegistry extends AsyncDisposable {
  server: RegistryServer
  requests: string[]
  /** Told of each, before it is answered. */
  onRequest: (line: string) => void
}

/** A registry in this process, with the requests that it was sent. */
export async function openRegistry(
  options: ConstructorParameters<typeof RegistryStore>[0] = {},
): Promise<WatchedRegistry> {
  const requests: string[] = []
  const watched = { requests, onRequest: (_: string) => {} }
  const server = await openRegistryServer({
    store: new RegistryStore(options),
    host: '127.0.0.1',
    port: 0,
    onRequest: ({ method, target }) => {
      requests.push(`${method} ${target}`)
      watched.onRequest(`${method} ${target}`)
    },
  })
  return Object.assign(watched, { server, [Symbol.asyncDispose]: () => server.close() })
}

/** Requests that change something: a POST to a subject itself only looks up. */
export function writesIn(requests: readonly string[]): string[] {
  return requests.filter(
    line => !line.startsWith('GET ') && !/^POST (\/contexts\/[^/]+)?\/subjects\/[^/?]+(\?|$)/.test(line),
  )
}

/**
 * A registry with topics to it: three kinds of schemas, references five deep and in a diamond, soft-deleted and sparse
 * versions, two contexts; keys and values of every message are framed by a stock serializer.
 */
export async function buildWorld(topicCount: number, messagesPerTopic: number): Promise<World> {
  const { server, requests } = await openRegistry()
  const { url } = server
  for (const draft of sharedSchemas()) await register(url, draft)
  const topics: WorldTopic[] = []
  for (let at = 0; at < topicCount; at++) {
    const type = (['AVRO', 'JSON', 'PROTOBUF'] as const)[at % 3] ?? 'AVRO'
    const context = at % 5 === 4 ? '.eu' : '.'
    const name = `${context === '.' ? '' : 'eu-'}${type.toLowerCase()}-${at}`
    const topic = { name, context, compression: codecs[at % 5] ?? 'none', partitions: PARTITIONS }
    topics.push({ ...topic, messages: await fillTopic(url, topic, type, messagesPerTopic) })
  }
  await leaveHoles(url)
  const subjects = (await (await fetch(`${url}/subjects?deleted=true`)).json()) as string[]
  return { registry: server, requests, topics, subjects }
}

/** A topic for each kind of schemas, in the default context of any registry. */
export async function fillOneOfEach(url: string, messagesPerTopic: number): Promise<WorldTopic[]> {
  for (const draft of sharedSchemas().filter(({ subject }) => !subject.startsWith(':'))) await register(url, draft)
  const topics: WorldTopic[] = []
  for (const type of ['AVRO', 'JSON', 'PROTOBUF'] as const) {
    const topic = { name: type.toLowerCase(), context: '.', compression: 'lz4' as const, partitions: PARTITIONS }
    topics.push({ ...topic, messages: await fillTopic(url, topic, type, messagesPerTopic) })
  }
  return topics
}

/** Decodes what a stock consumer reads, with the registry behind the address. */
export function stockRegistry(url: string, context: string): SchemaRegistry {
  const host = context === '.' ? url : `${url}/contexts/${context}`
  return new SchemaRegistry({ host })
}

export async function register(url: string, draft: Draft): Promise<number> {
  const { subject, type, schema, references = [] } = draft
  const body = {
    schema,
    schemaType: type,
    references: references.map(([name, to, version]) => ({ name, subject: to, version })),
  }
  const answer = await send(url, 'POST', `/subjects/${encodeURIComponent(subject)}/versions`, body)
  return (answer as { id: number }).id
}

export async function send(url: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const init = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
  const response = await fetch(`${url}${path}`, { ...init, headers: { 'content-type': 'application/json' } })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`)
  return answer
}

/** `level-5` needs `level-4` and so on; both sides of the diamond need `base`. */
function sharedSchemas(): Draft[] {
  const record = (name: string, fields: object[]) => JSON.stringify({ type: 'record', name, namespace: 'shop', fields })
  const levels = [1, 2, 3, 4, 5].map((level): Draft => {
    const below = level === 1 ? 'int' : `shop.Level${level - 1}`
    return {
      subject: `level-${level}`,
      type: 'AVRO',
      schema: record(`Level${level}`, [{ name: 'below', type: below }]),
      references: level === 1 ? [] : [[below, `level-${level - 1}`, 1]],
    }
  })
  const base: Draft = { subject: 'base', type: 'AVRO', schema: record('Base', [{ name: 'n', type: 'long' }]) }
  const side = (name: string): Draft => ({
    subject: name.toLowerCase(),
    type: 'AVRO',
    schema: record(name, [{ name: 'base', type: 'shop.Base' }]),
    references: [['shop.Base', 'base', 1]],
  })
  const money = (subject: string): Draft => ({
    subject,
    type: 'PROTOBUF',
    schema: 'syntax = "proto3";\npackage shop;\n\nmessage Money {\n  sint32 cents = 1;\n}\n',
  })
  const place = (subject: string): Draft => ({
    subject,
    type: 'JSON',
    schema: JSON.stringify({
      $id: 'https://example.com/place.json',
      type: 'object',
      properties: { city: { type: 'string' } },
    }),
  })
  const shared = [...levels, base, side('Left'), side('Right')]
  const abroad = shared.map(draft => ({ ...draft, subject: `:.eu:${draft.subject}` }))
  // The IDs of the second context are others than those of the first, for the same texts.
  const first: Draft = { subject: ':.eu:before', type: 'AVRO', schema: '"boolean"' }
  return [
    ...shared,
    ...['money.proto', ':.eu:money.proto'].map(money),
    ...['place', ':.eu:place'].map(place),
    first,
    ...abroad,
  ]
}

async function fillTopic(
  url: string,
  topic: Omit<WorldTopic, 'messages'>,
  type: SchemaType,
  count: number,
): Promise<Message[]> {
  const prefix = topic.context === '.' ? '' : `:${topic.context}:`
  const stock = stockRegistry(url, topic.context)
  const key: Draft = {
    subject: `${prefix}${topic.name}-key`,
    type: 'AVRO',
    schema: JSON.stringify({
      type: 'record',
      name: 'Key',
      namespace: topic.name.replaceAll('-', '_'),
      fields: [{ name: 'id', type: 'long' }],
    }),
  }
  const keyId = await register(url, key)
  const versions = valueSchemas(`${prefix}${topic.name}-value`, type)
  const ids: number[] = []
  for (const draft of versions) ids.push(await register(url, draft))
  const messages: Message[] = []
  for (let at = 0; at < count; at++) {
    const version = at % ids.length
    const id = ids[version] ?? 0
    const value = at % 17 === 16 ? undefined : payloadOf(type, version, at)
    const keyOf = { id: at }
    const framed = value === undefined ? null : withIndexes(type, await stock.encode(id, value))
    const record = {
      partition: at % topic.partitions,
      key: await stock.encode(keyId, keyOf),
      value: framed,
      timestamp: 1_760_000_000_000 + at,
      ...(at % 10 === 0 && { headers: [['trace', Buffer.from(`${at}`)]] as [string, Buffer][] }),
    }
    messages.push({ key: keyOf, value, record })
  }
  return messages
}

/** The stock serializer leaves out which message of the file it is, which Confluent's own write: the first, as one byte. */
function withIndexes(type: SchemaType, framed: Buffer): Buffer {
  if (type !== 'PROTOBUF') return framed
  return Buffer.concat([framed.subarray(0, 5), Buffer.from([0]), framed.subarray(5)])
}

/** Two versions each; the second has one more field, and refers to others. */
function valueSchemas(subject: string, type: SchemaType): Draft[] {
  switch (type) {
    case 'AVRO': {
      const fields = [{ name: 'text', type: 'string' }]
      const deep = [
        { name: 'deep', type: ['null', 'shop.Level5'], default: null },
        { name: 'left', type: ['null', 'shop.Left'], default: null },
        { name: 'right', type: ['null', 'shop.Right'], default: null },
      ]
      const schema = (all: object[]) =>
        JSON.stringify({ type: 'record', name: 'Order', namespace: 'shop', fields: all })
      return [
        { subject, type, schema: schema(fields) },
        {
          subject,
          type,
          schema: schema([...fields, ...deep]),
          references: [
            ['shop.Level5', 'level-5', 1],
            ['shop.Left', 'left', 1],
            ['shop.Right', 'right', 1],
          ],
        },
      ]
    }
    case 'JSON': {
      const text = { type: 'object', properties: { text: { type: 'string' } } }
      const second = { ...text, properties: { ...text.properties, place: { $ref: 'https://example.com/place.json' } } }
      return [
        { subject, type, schema: JSON.stringify(text) },
        { subject, type, schema: JSON.stringify(second), references: [['https://example.com/place.json', 'place', 1]] },
      ]
    }
    case 'PROTOBUF': {
      const proto = (lines: string, imports = '') =>
        `syntax = "proto3";\npackage shop;\n${imports}\nmessage Order {\n  string text = 1;\n${lines}}\n`
      return [
        { subject, type, schema: proto('') },
        {
          subject,
          type,
          schema: proto('  Money price = 2;\n', '\nimport "money.proto";\n'),
          references: [['money.proto', 'money.proto', 1]],
        },
      ]
    }
  }
}

function payloadOf(type: SchemaType, version: number, at: number): unknown {
  const text = `order ${at} `.repeat(3)
  if (version === 0) return { text }
  switch (type) {
    case 'AVRO': {
      const deep = { below: { below: { below: { below: { below: at } } } } }
      return { text, deep, left: { base: { n: at } }, right: { base: { n: -at } } }
    }
    case 'JSON':
      return { text, place: { city: `city ${at}` } }
    case 'PROTOBUF':
      return { text, price: { cents: at } }
  }
}

/** Versions 1, 3 and 4 of one subject, of which 3 is soft-deleted; and a subject that is soft-deleted as a whole. */
async function leaveHoles(url: string): Promise<void> {
  const avro = (subject: string, size: number): Draft => ({
    subject,
    type: 'AVRO',
    schema: JSON.stringify({ type: 'fixed', name: `F${size}`, size }),
  })
  await send(url, 'PUT', '/config/holes', { compatibility: 'NONE' })
  for (const size of [1, 2, 3, 4]) await register(url, avro('holes', size))
  await send(url, 'DELETE', '/subjects/holes/versions/2')
  await send(url, 'DELETE', '/subjects/holes/versions/2?permanent=true')
  await send(url, 'DELETE', '/subjects/holes/versions/3')
  await register(url, avro('gone', 9))
  await send(url, 'DELETE', '/subjects/gone')
}
