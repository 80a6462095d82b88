import type { SchemaVersion } from '../../../src/archive/registry-model.ts'

export const ORDER = JSON.stringify({ type: 'record', name: 'Order', namespace: 'shop', fields: [] })

export function schemaVersion(subject: string, id: number, changes: Partial<SchemaVersion> = {}): SchemaVersion {
  return {
    subject,
    version: 1,
    id,
    schemaType: 'AVRO',
    schema: ORDER,
    references: [],
    metadata: null,
    ruleSet: null,
    guid: null,
    isDeleted: false,
    ...changes,
  }
}

/** A frame of an id with this payload. */
export function framed(id: number, payload: string | Buffer = 'payload'): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeInt32BE(id, 1)
  return Buffer.concat([prefix, Buffer.from(payload)])
}

export function long(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}
