import * as z from 'zod'
import { damaged } from '../archive/damage.ts'
import { parseSealed } from '../archive/manifest.ts'
import { sealJson } from '../archive/seal.ts'
import { CIPHER_NAME } from './key-wrap.ts'

const base64 = z.string().regex(/^[A-Za-z0-9+/]+={0,2}$/)
const dataKeyId = z.string().regex(/^[0-9a-f]{32}$/)

/** Bounds on what a file may make this process compute: half a gigabyte of memory, and some seconds. */
const scryptSchema = z
  .strictObject({
    n: z
      .int()
      .min(2 ** 14)
      .max(2 ** 19),
    r: z.int().min(1).max(32),
    p: z.int().min(1).max(4),
    salt: base64,
  })
  .refine(({ n, r }) => Number.isInteger(Math.log2(n)) && 128 * n * r <= 2 ** 29, 'these parameters are out of bounds')

/** Who can unwrap the data keys. The id is what messages call it. */
const recipientSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('key'), id: z.string(), name: z.string().exactOptional() }),
  z.strictObject({ kind: z.literal('passphrase'), id: z.string(), scrypt: scryptSchema }),
  z.strictObject({
    kind: z.literal('aws_kms'),
    id: z.string(),
    key_id: z.string(),
    region: z.string().exactOptional(),
    name: z.string().exactOptional(),
  }),
])

const wrappedSchema = z.strictObject({ recipient: z.string(), nonce: base64.exactOptional(), bytes: base64 })

/** The keys of a backup, wrapped. Nothing in it opens anything without the key of a recipient. */
export const keysFileSchema = z.strictObject({
  format: z.literal('kafka-backup-keys'),
  format_version: z.literal(1),
  backup_id: z.string(),
  version: z.int().positive(),
  created_at: z.string(),
  /** Object keys do not contain names of topics and subjects. Fixed for the life of the backup. */
  hide_names: z.boolean(),
  recipients: z.array(recipientSchema).min(1).max(100),
  /** The last one is for what is written from now on; the first one hides names. */
  data_keys: z
    .array(
      z.strictObject({
        id: dataKeyId,
        cipher: z.literal(CIPHER_NAME),
        created_at: z.string(),
        wrapped: z.array(wrappedSchema).min(1),
      }),
    )
    .min(1)
    .max(1000),
  checksum: z.string().exactOptional(),
})

export type KeysFile = Omit<z.output<typeof keysFileSchema>, 'checksum'>
export type StoredRecipient = z.output<typeof recipientSchema>
export type ScryptParameters = z.output<typeof scryptSchema>
export type Wrapped = z.output<typeof wrappedSchema>

/** Everything below it, and below the folder of leases, is stored as it is. */
export function keysPrefix(backupId: string): string {
  return `${backupId}/keys/`
}

export function keysKey(backupId: string, version: number): string {
  return `${keysPrefix(backupId)}${String(version).padStart(8, '0')}.json`
}

/** The version that a key of the folder stands for; undefined where it is something else. */
export function parseKeysVersion(key: string): number | undefined {
  const match = /\/keys\/(\d{8,})\.json$/.exec(key)
  return match ? Number(match[1]) : undefined
}

export function encodeKeysFile(file: KeysFile): Buffer {
  return sealJson(file)
}

export function decodeKeysFile(bytes: Buffer, key: string): KeysFile {
  const { checksum: _, ...file } = parseSealed(keysFileSchema, bytes, key)
  const place = keysKey(file.backup_id, file.version)
  if (place === key) return file
  throw damaged(key, `is not in its place: it was ${place}`)
}
