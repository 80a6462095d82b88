import { SchemaRegistry } from '@kafkajs/confluent-schema-registry'

export type SchemaType = 'AVRO' | 'JSON' | 'PROTOBUF'

interface ShopSchema {
  subject: string
  schemaType: SchemaType
  schema: string
  references?: { name: string; subject: string; version: number }[]
}

const record = (name: string, fields: object[]) => JSON.stringify({ type: 'record', name, namespace: 'shop', fields })

/** In the order in which they are registered: what others refer to comes first, and orders have had a second version. */
const shopSchemas: readonly ShopSchema[] = [
  { subject: 'money', schemaType: 'AVRO', schema: record('Money', [{ name: 'cents', type: 'long' }]) },
  { subject: 'orders-key', schemaType: 'AVRO', schema: record('OrderKey', [{ name: 'number', type: 'int' }]) },
  { subject: 'orders-value', schemaType: 'AVRO', schema: record('Order', [{ name: 'item', type: 'string' }]) },
  {
    subject: 'orders-value',
    schemaType: 'AVRO',
    schema: record('Order', [
      { name: 'item', type: 'string' },
      { name: 'price', type: ['null', 'shop.Money'], default: null },
    ]),
    references: [{ name: 'shop.Money', subject: 'money', version: 1 }],
  },
  {
    subject: 'customers-value',
    schemaType: 'JSON',
    schema: JSON.stringify({ type: 'object', properties: { name: { type: 'string' }, city: { type: 'string' } } }),
  },
  {
    subject: 'payments-value',
    schemaType: 'PROTOBUF',
    schema: 'syntax = "proto3";\npackage shop;\n\nmessage Payment {\n  int32 order = 1;\n  int32 cents = 2;\n}\n',
  },
]

/** The IDs that the registry gave, by `subject/version`. */
export async function registerShop(url: string): Promise<Map<string, number>> {
  const ids = new Map<string, number>()
  const versions = new Map<string, number>()
  for (const { subject, ...body } of shopSchemas) {
    const answer = await fetch(`${url}/subjects/${subject}/versions`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`the registry does not take ${subject}: ${await answer.text()}`)
    const version = (versions.get(subject) ?? 0) + 1
    versions.set(subject, version)
    ids.set(`${subject}/${version}`, ((await answer.json()) as { id: number }).id)
  }
  return ids
}

/** A client that knows nothing of this tool. */
export function openStock(url: string): SchemaRegistry {
  return new SchemaRegistry({ host: url })
}

/** Confluent's serializers write behind the ID which message of the file it is: here the first one. */
export function withMessageIndex(framed: Buffer): Buffer {
  return Buffer.concat([framed.subarray(0, 5), Buffer.from([0]), framed.subarray(5)])
}
