import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Credential } from '../../src/encryption/credential.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { unwrapKey, wrapKey } from '../../src/encryption/key-wrap.ts'
import { decodeKeysFile, encodeKeysFile } from '../../src/encryption/keys-file.ts'
import { rewrapKeys } from '../../src/encryption/rewrap.ts'
import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { withObservation } from '../../src/storage/observed.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { givenKeys, keyOf, never, ownKeys } from './samples.ts'

const phrase = (passphrase: string, name?: string): Credential => ({ kind: 'passphrase', passphrase, from: 'P', name })
const first = 'b1/keys/00000001.json'

async function writeSample(credentials: readonly Credential[]): Promise<MemoryStorage> {
  const inner = openMemoryStorage()
  await withEncryption(inner, ownKeys(credentials)).create('b1/a', Buffer.from('secret text'), never)
  return inner
}

const read = async (inner: MemoryStorage, ...credentials: Credential[]) =>
  (await withEncryption(inner, givenKeys(credentials)).read('b1/a', never)).toString()

test('a wrapped key with a short tag, or of another length, is none', () => {
  const secret = Buffer.alloc(32, 7)
  const context = { backupId: 'b1', dataKeyId: '00', hideNames: false }
  const { nonce, bytes } = wrapKey(secret, 'r', context, Buffer.alloc(32, 1))
  assert.deepEqual(unwrapKey(secret, 'r', context, { nonce, bytes }), Buffer.alloc(32, 1))
  // GCM takes tags of four bytes; one in four billion guesses is right.
  const stored = Buffer.from(bytes, 'base64')
  const empty = wrapKey(secret, 'r', context, Buffer.alloc(0))
  const short = Buffer.from(empty.bytes, 'base64').subarray(0, 4)
  assert.equal(unwrapKey(secret, 'r', context, { nonce: empty.nonce, bytes: short.toString('base64') }), undefined)
  assert.equal(unwrapKey(secret, 'r', context, empty), undefined)
  assert.equal(unwrapKey(secret, 'r', context, { nonce, bytes: stored.subarray(1).toString('base64') }), undefined)
})

test('a folder that is never encrypted is no place for an encrypted backup', () => {
  assert.throws(
    () => withEncryption(openMemoryStorage(), ownKeys([keyOf(1)], false, 'offset-snapshots')),
    error => hasCode(error, 'CONFIG_INVALID') && /`offset-snapshots` cannot be encrypted/.test(error.message),
  )
})

describe('a backup opens', () => {
  test('with any one of its recipients', async () => {
    const [a, b, words] = [keyOf(1, 'ops'), keyOf(2), phrase('correct horse battery', 'vault')]
    const inner = await writeSample([a, b, words])
    for (const one of [a, b, words]) assert.equal(await read(inner, one), 'secret text')
    assert.equal(await read(inner, keyOf(9), b), 'secret text')
  })

  test('with none of the others, and says which ones would', async () => {
    const inner = await writeSample([keyOf(1, 'ops'), phrase('correct horse battery')])
    const refused = async (pattern: RegExp, ...given: Credential[]) =>
      assert.rejects(read(inner, ...given), (error: KafkaBackupError) => {
        assert.equal(error.code, 'ENCRYPTION_KEY')
        assert.match(error.message, pattern)
        assert.match(error.message, /opens with key [0-9a-f]{16} \(ops\) or a passphrase/)
        assert.doesNotMatch(error.message, /horse|guess/)
        return true
      })
    await refused(/no key was given/)
    await refused(/none of these matches: the key [0-9a-f]{16} of a test/, keyOf(7))
    await refused(/none of these matches: the passphrase of P/, phrase('a wrong guess'))
  })

  test('no more where its keys are gone', async () => {
    const inner = await writeSample([keyOf(1)])
    inner.objects.delete(first)
    const missing = /b1\/keys\/ at memory holds no keys, but the backup `b1` is encrypted/
    await assert.rejects(read(inner, keyOf(1)), missing)
    await assert.rejects(withEncryption(inner, ownKeys([keyOf(1)])).keysFor('b1', never), missing)
    assert.equal(inner.objects.size, 1)
  })
})

describe('the keys file', () => {
  test('holds neither a data key nor a key of a recipient in any form', async () => {
    const inner = await writeSample([keyOf(0xab), phrase('correct horse battery')])
    const file = inner.objects.get(first) ?? assert.fail()
    const opened = await withEncryption(inner, ownKeys([keyOf(0xab)])).keysFor('b1', never)
    const dataKey = opened?.current.bytes ?? assert.fail()
    assert.equal(dataKey.length, 32)
    for (const key of [dataKey, Buffer.alloc(32, 0xab), Buffer.from('correct horse battery')]) {
      const forms = (['hex', 'base64', 'base64url', 'latin1'] as const).map(form =>
        key.toString(form).replace(/=+$/, ''),
      )
      for (const form of forms) assert.ok(!file.toString('latin1').includes(form))
    }
  })

  test('that was exchanged for one of other keys opens with no key of the reader, and nothing is written with it', async () => {
    const inner = await writeSample([keyOf(1)])
    const forger = await writeSample([keyOf(9)])
    inner.objects.set(first, forger.objects.get(first) ?? assert.fail())
    await assert.rejects(read(inner, keyOf(1)), error => hasCode(error, 'ENCRYPTION_KEY'))
    const writer = withEncryption(inner, ownKeys([keyOf(1)]))
    await assert.rejects(writer.create('b1/x', Buffer.from('x'), never), error => hasCode(error, 'ENCRYPTION_KEY'))
    assert.ok(!inner.objects.has('b1/x'))
  })

  test('is made once where two writers begin at the same time', async () => {
    const inner = openMemoryStorage()
    const writers = Array.from({ length: 8 }, () => withEncryption(inner, ownKeys([keyOf(1)])))
    const keys = await Promise.all(writers.map(writer => writer.keysFor('b1', never)))
    assert.equal(new Set(keys.map(one => one?.current.id)).size, 1)
    assert.deepEqual([...inner.objects.keys()], [first])
  })

  test('that was changed, moved or asks for too much work is refused', async () => {
    const inner = await writeSample([phrase('correct horse battery')])
    const bytes = inner.objects.get(first) ?? Buffer.alloc(0)
    const file = decodeKeysFile(bytes, first)
    assert.throws(() => decodeKeysFile(bytes, 'b1/keys/00000002.json'), /is not in its place/)
    const flipped = Buffer.from(bytes.toString().replace('"hide_names": false', '"hide_names": true '))
    assert.throws(() => decodeKeysFile(flipped, first), /does not have the checksum/)
    for (const change of [
      { n: 2 ** 30 },
      { n: 2 ** 13 },
      { n: 100_000 },
      { r: 1000 },
      { p: 100 },
      { n: 2 ** 19, r: 16 },
    ]) {
      const recipients = file.recipients.map(one =>
        one.kind === 'passphrase' ? { ...one, scrypt: { ...one.scrypt, ...change } } : one,
      )
      const changed = encodeKeysFile({ ...file, recipients })
      assert.throws(
        () => decodeKeysFile(changed, first),
        error => hasCode(error, 'ARCHIVE_DAMAGED'),
        JSON.stringify(change),
      )
    }
  })

  test('does not open with another setting for names, which is bound to the keys', async () => {
    const inner = await writeSample([keyOf(1)])
    const file = decodeKeysFile(inner.objects.get(first) ?? Buffer.alloc(0), first)
    inner.objects.set(first, encodeKeysFile({ ...file, hide_names: true }))
    await assert.rejects(read(inner, keyOf(1)), error => hasCode(error, 'ENCRYPTION_KEY'))
  })

  test('takes no short passphrase and no recipient twice', async () => {
    await assert.rejects(writeSample([phrase('short')]), /the passphrase of P is shorter than 12 characters/)
    await assert.rejects(writeSample([keyOf(1), keyOf(1)]), error => hasCode(error, 'CONFIG_INVALID'))
    await assert.rejects(writeSample([phrase('one two three'), phrase('four five six')]), /two recipients have the id/)
  })
})

describe('a rewrap', () => {
  const rewrap = (inner: MemoryStorage, recipients: Credential[], present: Credential[], isDataKeyNew = false) =>
    rewrapKeys(inner, { backupId: 'b1', recipients, present, isDataKeyNew }, systemClock, never)

  test('says that it counts where the store keeps the file of before', async () => {
    const inner = await writeSample([keyOf(1)])
    const error = () => new KafkaBackupError('STORAGE_RETAINED', 'locked until tomorrow')
    const locked = withFaults(inner, [{ on: 'remove', effect: { kind: 'throw-before', error } }])
    const request = { backupId: 'b1', recipients: [keyOf(2)], present: [keyOf(1)], isDataKeyNew: false }
    const told = /00000002\.json counts from now on, but an older keys file cannot be removed: locked until tomorrow/
    await assert.rejects(
      rewrapKeys(locked, request, systemClock, never),
      failure => hasCode(failure, 'STORAGE_RETAINED') && told.test(failure.message),
    )
    assert.equal(await read(inner, keyOf(2)), 'secret text')
  })

  test('opens to the new recipients, closes to the old ones, and touches no data', async () => {
    const inner = await writeSample([keyOf(1)])
    const before = inner.objects.get('b1/a')
    const { removed } = await rewrap(inner, [keyOf(2), phrase('correct horse battery')], [keyOf(1)])
    assert.equal(removed, 1)
    assert.deepEqual([...inner.objects.keys()].sort(), ['b1/a', 'b1/keys/00000002.json'])
    assert.equal(inner.objects.get('b1/a'), before)
    assert.equal(await read(inner, keyOf(2)), 'secret text')
    assert.equal(await read(inner, phrase('correct horse battery')), 'secret text')
    await assert.rejects(read(inner, keyOf(1)), error => hasCode(error, 'ENCRYPTION_KEY'))
  })

  test('needs a key of today, and without one changes nothing', async () => {
    const inner = await writeSample([keyOf(1)])
    await assert.rejects(rewrap(inner, [keyOf(2)], [keyOf(3)]), error => hasCode(error, 'ENCRYPTION_KEY'))
    assert.deepEqual([...inner.objects.keys()].sort(), ['b1/a', first])
  })

  test('that dies before it removes the older file leaves a backup that opens', async () => {
    const inner = await writeSample([keyOf(1)])
    const dying = { ...inner, remove: async () => Promise.reject(new Error('died')) }
    const request = { backupId: 'b1', recipients: [keyOf(2)], present: [keyOf(1)], isDataKeyNew: false }
    await assert.rejects(rewrapKeys(dying, request, systemClock, never), /died/)
    assert.equal(await read(inner, keyOf(2)), 'secret text')
    assert.equal((await rewrap(inner, [keyOf(2)], [])).removed, 2)
  })

  test('with a new data key leaves what is there readable, also to a reader that is at work', async () => {
    const inner = await writeSample([keyOf(1)])
    const atWork = withEncryption(inner, givenKeys([keyOf(1)]))
    await atWork.read('b1/a', never)
    await rewrap(inner, [keyOf(1)], [], true)
    await withEncryption(inner, ownKeys([keyOf(1)])).create('b1/b', Buffer.from('newer'), never)
    const ids = ['b1/a', 'b1/b'].map(key => inner.objects.get(key)?.toString('hex', 16, 32))
    assert.notEqual(ids[0], ids[1])
    assert.equal((await atWork.read('b1/b', never)).toString(), 'newer')
    assert.equal(await read(inner, keyOf(1)), 'secret text')
  })

  test('of a backup that is not encrypted says so', async () => {
    await assert.rejects(rewrap(openMemoryStorage(), [keyOf(1)], []), /there is no encrypted backup `b1`/)
  })
})

describe('encrypted and not', () => {
  test('a job with encryption refuses a backup without, and writes nothing to it', async () => {
    const inner = openMemoryStorage()
    await inner.create('b1/manifests/00000001.json', Buffer.from('{}'), never)
    const storage = withEncryption(inner, ownKeys([keyOf(1)]))
    for (const work of [
      storage.keysFor('b1', never),
      storage.create('b1/x', Buffer.from('x'), never),
      storage.read('b1/manifests/00000001.json', never),
    ]) {
      await assert.rejects(work, error => hasCode(error, 'ENCRYPTION_MISMATCH'))
    }
    assert.equal(inner.objects.size, 1)
  })

  test('a job without encryption does not write to an encrypted backup', async () => {
    const inner = await writeSample([keyOf(1)])
    const storage = withEncryption(inner, givenKeys([]))
    await assert.rejects(storage.create('b1/x', Buffer.from('x'), never), error => hasCode(error, 'ENCRYPTION_KEY'))
    await assert.rejects(storage.openWriter('b1/x', never), error => hasCode(error, 'ENCRYPTION_KEY'))
    assert.equal(inner.objects.size, 2)
  })

  test('what is stored beside backups, and leases, stay as they are', async () => {
    const inner = openMemoryStorage()
    const storage = withEncryption(inner, ownKeys([keyOf(1)]))
    const body = Buffer.from('plain')
    for (const key of ['.kafka-backup-probe', 'offset-snapshots/a.json', 'b1/leases/writer.json']) {
      await storage.create(key, body, never)
      assert.deepEqual(inner.objects.get(key), body)
      assert.deepEqual(await storage.read(key, never), body)
      assert.equal((await storage.stat(key, never))?.size, 5)
    }
  })

  test('a backup without encryption costs no request more to read its manifest', async () => {
    const calls: string[] = []
    const inner = openMemoryStorage()
    await inner.create('b1/manifests/00000001.json', Buffer.from('{}'), never)
    const counted = withObservation(inner, ({ operation, key }) => calls.push(`${operation} ${key}`))
    const storage = withEncryption(counted, givenKeys([]))
    for await (const _ of storage.list('b1/manifests/', never));
    await storage.read('b1/manifests/00000001.json', never)
    await storage.create('b1/x', Buffer.from('x'), never)
    await storage.readRange('b1/x', 0, 1, never)
    assert.deepEqual(calls, ['list b1/manifests/', 'read b1/manifests/00000001.json', 'create b1/x', 'readRange b1/x'])
  })

  test('a backup that is not encrypted is refused by the beginning of one object, not by all of it', async () => {
    for (const body of [Buffer.alloc(1000), Buffer.from('{}')]) {
      const inner = openMemoryStorage()
      inner.objects.set('b1/kafka/orders/0/00000000000000000000.run1.log', body)
      const calls: string[] = []
      const counted = withObservation(inner, ({ operation }) => calls.push(operation))
      await assert.rejects(withEncryption(counted, ownKeys([keyOf(1)])).keysFor('b1', never), error =>
        hasCode(error, 'ENCRYPTION_MISMATCH'),
      )
      assert.ok(!calls.includes('read'), calls.join())
    }
  })

  test('whether names are hidden is fixed for the life of a backup', async () => {
    const inner = openMemoryStorage()
    const hidden = await withEncryption(inner, ownKeys([keyOf(1)], true)).keysFor('b1', never)
    assert.match(hidden?.folderOf?.('orders') ?? '', /^[0-9a-f]{32}$/)
    const again = await withEncryption(inner, ownKeys([keyOf(1)], true)).keysFor('b1', never)
    assert.equal(again?.folderOf?.('orders'), hidden?.folderOf?.('orders'))
    assert.notEqual(again?.folderOf?.('orders'), hidden?.folderOf?.('orders2'))
    await rewrapKeys(
      inner,
      { backupId: 'b1', recipients: [keyOf(1)], present: [], isDataKeyNew: true },
      systemClock,
      never,
    )
    const renewed = await withEncryption(inner, ownKeys([keyOf(1)], true)).keysFor('b1', never)
    assert.notEqual(renewed?.current.id, hidden?.current.id)
    assert.equal(renewed?.folderOf?.('orders'), hidden?.folderOf?.('orders'))
    await assert.rejects(withEncryption(inner, ownKeys([keyOf(1)], false)).keysFor('b1', never), /begun with/)
  })
})
