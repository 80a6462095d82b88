import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { type EncryptedStorage, withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { FRAME_BYTES, HEADER_BYTES, TAG_BYTES } from '../../src/encryption/object-header.ts'
import { hasCode } from '../../src/errors.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { givenKeys, keyOf, never, ownKeys } from './samples.ts'

const STORED_FRAME = FRAME_BYTES + TAG_BYTES
const key = keyOf()
const body = randomBytes(3 * FRAME_BYTES + 1000)

async function openSample(): Promise<{ inner: MemoryStorage; stored: Buffer; storage: EncryptedStorage }> {
  const inner = openMemoryStorage()
  const storage = withEncryption(inner, ownKeys([key]))
  await storage.create('b1/kafka/t/0/a.log', body, never)
  await storage.create('b1/kafka/t/0/b.log', randomBytes(body.length), never)
  return { inner, storage, stored: inner.objects.get('b1/kafka/t/0/a.log') ?? Buffer.alloc(0) }
}

/** Read whole, in pieces, and by somebody who knows nothing of it yet. Never other bytes, and an error that names it. */
async function assertRefused(inner: MemoryStorage, changed: Buffer, what: string): Promise<void> {
  inner.objects.set('b1/kafka/t/0/a.log', changed)
  const named = (error: unknown) =>
    hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW', 'STORAGE_SHORT') &&
    error.message.includes('b1/kafka/t/0/a.log')
  await assert.rejects(withEncryption(inner, ownKeys([key])).read('b1/kafka/t/0/a.log', never), named, what)
  const reader = withEncryption(inner, givenKeys([key]))
  const readPieces = async () => {
    for (let at = 0; at < body.length; at += 150_000) {
      const length = Math.min(150_000, body.length - at)
      const piece = await reader.readRange('b1/kafka/t/0/a.log', at, length, never)
      assert.ok(piece.equals(body.subarray(at, at + length)), `${what}: other bytes were given out`)
    }
  }
  await assert.rejects(readPieces(), named, what)
}

const frame = (stored: Buffer, index: number) =>
  stored.subarray(HEADER_BYTES + index * STORED_FRAME, HEADER_BYTES + (index + 1) * STORED_FRAME)

describe('an object that somebody changed is refused by name', () => {
  test('for any bit of its header', async () => {
    const { inner, stored } = await openSample()
    for (let at = 0; at < HEADER_BYTES; at++) {
      const changed = Buffer.from(stored)
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8))
      await assertRefused(inner, changed, `byte ${at}`)
    }
  })

  test('for a bit of any frame, of any tag and of the end', async () => {
    const { inner, stored } = await openSample()
    const places = [0, 1, 2, 3].flatMap(index => {
      const start = HEADER_BYTES + index * STORED_FRAME
      return [start, start + 500, Math.min(stored.length, start + STORED_FRAME) - 1]
    })
    for (const at of places) {
      const changed = Buffer.from(stored)
      changed[at] = (changed[at] ?? 0) ^ 0x10
      await assertRefused(inner, changed, `byte ${at}`)
    }
  })

  test('when it is cut anywhere, also between two frames', async () => {
    const { inner, stored } = await openSample()
    const ends = [0, 7, 8, 63, 64, 65, 80, HEADER_BYTES + STORED_FRAME, HEADER_BYTES + 2 * STORED_FRAME + 100]
    for (const end of [...ends, HEADER_BYTES + 3 * STORED_FRAME, stored.length - 1, stored.length - TAG_BYTES]) {
      await assertRefused(inner, stored.subarray(0, end), `cut at ${end}`)
    }
  })

  test('when frames are exchanged, repeated, dropped or added', async () => {
    const { inner, stored } = await openSample()
    const header = stored.subarray(0, HEADER_BYTES)
    const [a, b, c, d] = [frame(stored, 0), frame(stored, 1), frame(stored, 2), frame(stored, 3)]
    for (const [what, frames] of [
      ['exchanged', [b, a, c, d]],
      ['repeated', [a, a, b, c, d]],
      ['the first dropped', [b, c, d]],
      ['one in the middle dropped', [a, c, d]],
      ['the last repeated', [a, b, c, d, d]],
      ['more behind the end', [a, b, c, d, Buffer.alloc(100)]],
    ] as const) {
      await assertRefused(inner, Buffer.concat([header, ...frames]), what)
    }
  })

  test('when frames, or all of it, come from another object', async () => {
    const { inner, stored } = await openSample()
    const other = inner.objects.get('b1/kafka/t/0/b.log') ?? Buffer.alloc(0)
    const header = stored.subarray(0, HEADER_BYTES)
    await assertRefused(inner, other, 'another object')
    await assertRefused(inner, Buffer.concat([header, other.subarray(HEADER_BYTES)]), 'frames of another')
    const mixed = [frame(stored, 0), frame(other, 1), frame(stored, 2), frame(stored, 3)]
    await assertRefused(inner, Buffer.concat([header, ...mixed]), 'one frame of another')
  })

  test('when it is not encrypted at all', async () => {
    const { inner } = await openSample()
    await assertRefused(inner, body, 'plain bytes')
    await assertRefused(inner, Buffer.from('{}'), 'plain text')
  })
})

test('a damaged frame is named with its number, and a cut is called one', async () => {
  const { inner, stored, storage } = await openSample()
  const changed = Buffer.from(stored)
  const at = HEADER_BYTES + 2 * STORED_FRAME + 9
  changed[at] = (changed[at] ?? 0) ^ 1
  inner.objects.set('b1/kafka/t/0/a.log', changed)
  await assert.rejects(storage.read('b1/kafka/t/0/a.log', never), /b1\/kafka\/t\/0\/a\.log: frame 2 does not open/)
  inner.objects.set('b1/kafka/t/0/a.log', stored.subarray(0, HEADER_BYTES + 2 * STORED_FRAME))
  await assert.rejects(storage.read('b1/kafka/t/0/a.log', never), /frame 1 does not open: the object was cut behind it/)
})

test('a changed version in the header is damage where the frames show it, and otherwise may be a newer version', async () => {
  const { inner, stored } = await openSample()
  const name = 'b1/kafka/t/0/a.log'
  const reads = (storage: EncryptedStorage) => [
    () => storage.read(name, never),
    () => storage.readRange(name, 10, 20, never),
    () => storage.readRange(name, 2 * FRAME_BYTES + 10, FRAME_BYTES, never),
  ]
  for (const version of [0, 2, 3, 255]) {
    const changed = Buffer.from(stored)
    changed[8] = version
    inner.objects.set(name, changed)
    for (const read of reads(withEncryption(inner, givenKeys([key]))))
      await assert.rejects(read, error => hasCode(error, 'ARCHIVE_DAMAGED') && error.message.includes(name))
  }
  const other = Buffer.concat([stored.subarray(0, HEADER_BYTES), randomBytes(stored.length - HEADER_BYTES)])
  other[8] = 2
  inner.objects.set(name, other)
  for (const read of reads(withEncryption(inner, givenKeys([key])))) {
    await assert.rejects(read, {
      code: 'ARCHIVE_TOO_NEW',
      message: `${name} is encrypted in version 2 of the format, or its header is damaged; this version of kafka-backup reads up to 1`,
    })
  }
  other.fill(7, 16, 32)
  for (const read of reads(withEncryption(inner, givenKeys([key]))))
    await assert.rejects(read, { code: 'ARCHIVE_TOO_NEW' })
})

test('an object under another backup id, or with the data key of another backup, is refused', async () => {
  const inner = openMemoryStorage()
  const [first, second] = ['b1', 'b2'].map(id => withEncryption(inner, ownKeys([key], false, id)))
  assert.ok(first && second)
  await first.create('b1/a', Buffer.from('one'), never)
  await second.create('b2/a', Buffer.from('two'), never)
  inner.objects.set('b2/a', inner.objects.get('b1/a') ?? Buffer.alloc(0))
  await assert.rejects(second.read('b2/a', never), /b2\/a is encrypted with the data key \w{32}, which is none of/)
  // With its keys beside it, too: they are bound to the name of the backup.
  const keys = inner.objects.get('b1/keys/00000001.json')?.toString().replace('"b1"', '"b2"') ?? ''
  inner.objects.set('b2/keys/00000001.json', Buffer.from(keys.replace(/,\n "checksum": "\w+"/, '')))
  const reader = withEncryption(inner, givenKeys([key]))
  await assert.rejects(reader.read('b2/a', never), error => hasCode(error, 'ENCRYPTION_KEY'))
})
