import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FoundRecord } from '../../src/inspect/found-record.ts'
import type { ShownRecord } from '../../src/inspect/print-format.ts'
import { SchemaDecoder, type SchemaSource } from '../../src/inspect/schema-decoder.ts'
import { showHeaders, showPart } from '../../src/inspect/show-record.ts'
import { versionOf } from '../fakes/registry-snapshots.ts'

const never = new AbortController().signal

export interface SampleSchema {
  id: number
  subject: string
  type: 'AVRO' | 'JSON' | 'PROTOBUF'
  schema: string
  references?: { name: string; subject: string; version: number }[]
  guid?: string
}

/** The parts of a record that matter to a test. */
export type SampleRecord = Partial<Omit<FoundRecord, 'key' | 'value'>> & {
  key?: Buffer | string | null
  value?: Buffer | string | null
}

/** Records as `cat` shows them, decoded with these schemas. */
export async function showAll(
  samples: readonly SampleRecord[],
  schemas: readonly SampleSchema[] = [],
): Promise<ShownRecord[]> {
  const versions = schemas.map(({ id, subject, type, schema, references = [], guid = null }) =>
    versionOf(subject, 1, id, { schemaType: type, schema, references, guid }),
  )
  const source: SchemaSource = { ofId: async () => versions, all: async () => versions }
  const decoder = new SchemaDecoder(source)
  const shown: ShownRecord[] = []
  for (const [at, sample] of samples.entries()) {
    const bytes = (part: Buffer | string | null = null) => (typeof part === 'string' ? Buffer.from(part) : part)
    const record: FoundRecord = {
      ...{ topic: 'orders', partition: 0, offset: BigInt(at), timestamp: 1_700_000_000_000n, transaction: 'plain' },
      headers: [],
      ...sample,
      ...{ key: bytes(sample.key), value: bytes(sample.value) },
    }
    await decoder.prepare(record, ['key', 'value'], never)
    await decoder.prepareHeaders(record, never)
    const part = (name: 'key' | 'value') => showPart(record, name, 'auto', decoder)
    shown.push({ record, key: part('key'), value: part('value'), headers: showHeaders(record, decoder) })
  }
  return shown
}

/** A payload behind the ID of its schema. */
export function framed(id: number, payload: Buffer | string): Buffer {
  const head = Buffer.alloc(5)
  head.writeInt32BE(id, 1)
  return Buffer.concat([head, typeof payload === 'string' ? Buffer.from(payload) : payload])
}

/** A folder that is removed at the end of the block. */
export function temporaryFolder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'export-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}
