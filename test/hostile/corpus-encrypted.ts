import { FRAME_BYTES } from '../../src/encryption/object-header.ts'
import type { HostileItem } from './corpus.ts'
import type { Forgery, Tree } from './forgery.ts'
import { SEALED } from './honest-archive.ts'

const keysAt = 'sealed/keys/00000001.json'
const manifest = 'sealed/manifests/00000002.json'
const inKeys = (change: (tree: Tree) => unknown) => (archive: Forgery) =>
  archive.reseal(keysAt, tree => void change(tree))

/** Without a key, an archive can be cut, swapped, replayed and filled with bytes, and its keys file can say anything. */
const changes: readonly [name: string, change: (archive: Forgery) => void, isAccepted?: true][] = [
  [
    'keys of another format',
    inKeys(tree => {
      tree.format_version = 9
    }),
  ],
  [
    'keys of another backup',
    inKeys(tree => {
      tree.backup_id = 'plain'
    }),
  ],
  [
    'keys that hide names after all',
    inKeys(tree => {
      tree.hide_names = true
    }),
  ],
  [
    'a recipient with a hostile name',
    inKeys(tree => {
      tree.recipients[0].name = 'a\nFORGED-LINE\x1b[2J\u202e'
    }),
    true,
  ],
  [
    'a recipient with a hostile id',
    inKeys(tree => {
      tree.recipients[0].id = 'a\nFORGED-LINE\x1b[2J'
    }),
  ],
  [
    'a recipient of KMS elsewhere',
    inKeys(tree => {
      tree.recipients = [{ kind: 'aws_kms', id: 'x', key_id: 'arn:aws:kms:x\n', region: '../..' }]
    }),
  ],
  [
    'a passphrase that costs a gigabyte',
    inKeys(tree => {
      tree.recipients = [{ kind: 'passphrase', id: 'x', scrypt: { n: 2 ** 30, r: 32, p: 4, salt: 'AAAA' } }]
    }),
  ],
  [
    'a thousand data keys',
    inKeys(tree => {
      tree.data_keys = Array.from({ length: 1000 }, (_, at) => ({
        ...tree.data_keys[0],
        id: at.toString(16).padStart(32, '0'),
      }))
    }),
  ],
  [
    'a data key of other bytes',
    inKeys(tree => {
      tree.data_keys[0].wrapped[0].bytes = 'AAAA'
    }),
  ],
  [
    'a data key with another id',
    inKeys(tree => {
      tree.data_keys[0].id = '0'.repeat(32)
    }),
  ],
  ['a nonce of no length', inKeys(tree => delete tree.data_keys[0].wrapped[0].nonce)],
  ['keys that are no JSON', archive => archive.put(keysAt, '{')],
  ['keys of great depth', archive => archive.put(keysAt, `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`)],
  ['keys that are missing', archive => void archive.objects.delete(keysAt)],
  ['keys of a later version that are empty', archive => archive.put('sealed/keys/00000002.json', '')],
  ['keys beyond all numbers', archive => archive.put(`sealed/keys/${'9'.repeat(30)}.json`, archive.bytes(keysAt))],
  ['a header that is cut', archive => archive.put(manifest, archive.bytes(manifest).subarray(0, 20))],
  ['a header of a later version', archive => archive.put(manifest, patched(archive.bytes(manifest), 8, 9))],
  ['a header with another key', archive => archive.put(manifest, patched(archive.bytes(manifest), 16, 9))],
  ['an object that is not encrypted', archive => archive.put(manifest, archive.bytes('plain/manifests/00000002.json'))],
  [
    'an older manifest under the newer name',
    archive => archive.put(manifest, archive.bytes('sealed/manifests/00000001.json')),
  ],
  [
    'a segment of another partition',
    archive =>
      archive.put(
        archive.find(/^sealed\/kafka\/orders\/0\/.*log/),
        archive.bytes(archive.find(/^sealed\/kafka\/orders\/1\/.*log/)),
      ),
  ],
  ['a frame that is cut', archive => archive.put(manifest, archive.bytes(manifest).subarray(0, -5))],
  [
    'frames that come twice',
    archive => archive.put(manifest, Buffer.concat([archive.bytes(manifest), archive.bytes(manifest)])),
  ],
  [
    'an object of a whole frame of zeros',
    archive =>
      archive.put(manifest, Buffer.concat([archive.bytes(manifest).subarray(0, 64), Buffer.alloc(FRAME_BYTES + 64)])),
  ],
  [
    'an index in place of a manifest',
    archive => archive.put(manifest, archive.bytes(archive.find(/^sealed\/kafka\/orders\/0\/index-2/))),
  ],
]

export const encrypted: readonly HostileItem[] = changes.map(([name, change, isAccepted]) => ({
  name: `encrypted: ${name}`,
  change,
  backupId: SEALED,
  ...(isAccepted && { isAccepted: 'or refused' as const }),
}))

function patched(bytes: Buffer, at: number, value: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ value
  return copy
}
