import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sealJson } from '../../src/archive/seal.ts'
import type { Credential } from '../../src/encryption/credential.ts'
import { describeEncrypted } from '../../src/encryption/describe-encrypted.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { rewrapKeys } from '../../src/encryption/rewrap.ts'
import { SnapshotVault } from '../../src/encryption/snapshot-vault.ts'
import { hasCode } from '../../src/errors.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { SnapshotBook } from '../../src/offsets/snapshot-book.ts'
import { takeSnapshot } from '../../src/offsets/take-snapshot.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { openFakeKms } from '../fakes/fake-kms.ts'
import { startHttpScript } from '../fakes/http-script.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { fakeOffsets, plainLog } from '../offsets/fake-offsets.ts'
import { givenKeys, keyOf, never, ownKeys } from './samples.ts'

const keysOne = 'offset-snapshots/keys/00000001.json'
const keysTwo = 'offset-snapshots/keys/00000002.json'

function openVault(storage: MemoryStorage, recipients: readonly Credential[], others: readonly Credential[] = []) {
  return new SnapshotVault(storage, {
    loadCredentials: async () => [...recipients, ...others],
    loadRecipients: async () => recipients,
    hasCredentials: recipients.length > 0,
    mayAskKms: true,
    clock: systemClock,
  })
}

let runs = 0

function openBook(storage: MemoryStorage, recipients: readonly Credential[], acceptsPlain = false) {
  const warned: string[] = []
  const parts = { storage, clock: new JumpingClock(), newRun: () => `r${++runs}`, toolVersion: '0' }
  const onPlain = async (key: string) => void warned.push(key)
  const vault = openVault(storage, recipients)
  return { warned, book: new SnapshotBook({ ...parts, vault, acceptsPlain, onPlain }) }
}

function cluster() {
  const fake = fakeOffsets({ orders: [plainLog(10)] })
  fake.put('billing', { 'orders/0': 4 })
  return fake
}

const take = (storage: MemoryStorage, recipients: readonly Credential[]) =>
  takeSnapshot([], { port: cluster(), book: openBook(storage, recipients).book }, never)

describe('an offset snapshot', () => {
  test('is encrypted for the keys that are given, and shows neither groups nor topics', async () => {
    const storage = openMemoryStorage()
    const taken = await take(storage, [keyOf(1, 'ops')])
    const stored = storage.objects.get(`offset-snapshots/${taken.snapshot_id}.json`)
    assert.ok(stored)
    for (const name of ['billing', 'orders', 'kafka-backup-offset-snapshot']) assert.ok(!stored.includes(name), name)
    assert.deepEqual([...storage.objects.keys()].sort(), [`offset-snapshots/${taken.snapshot_id}.json`, keysOne].sort())
    const { book, warned } = openBook(storage, [keyOf(1)])
    assert.deepEqual(await book.read(taken.snapshot_id, never), taken)
    assert.deepEqual([(await book.list(never))[0]?.isEncrypted, warned], [true, []])
  })

  test('of jobs with different keys shares the folder, and each opens its own', async () => {
    const storage = openMemoryStorage()
    const [one, two] = [await take(storage, [keyOf(1)]), await take(storage, [keyOf(2)])]
    assert.deepEqual([...storage.objects.keys()].filter(key => key.includes('/keys/')).sort(), [keysOne, keysTwo])
    await take(storage, [keyOf(1)])
    assert.equal([...storage.objects.keys()].filter(key => key.includes('/keys/')).length, 2, 'keys are used again')
    const { book } = openBook(storage, [keyOf(2)])
    assert.deepEqual(await book.read(two.snapshot_id, never), two)
    const message = new RegExp(
      `the offset snapshot offset-snapshots/${one.snapshot_id}.json is encrypted, and opens with key`,
    )
    await assert.rejects(book.read(one.snapshot_id, never), { code: 'ENCRYPTION_KEY', message })
    const listed = await book.list(never)
    assert.deepEqual(listed.map(({ error }) => error?.code).sort(), ['ENCRYPTION_KEY', 'ENCRYPTION_KEY', undefined])
  })

  test('taken before keys changed opens with the former key, and new ones do not', async () => {
    const storage = openMemoryStorage()
    const before = await take(storage, [keyOf(1)])
    const after = await take(storage, [keyOf(2), keyOf(3)])
    const reader = openBook(storage, [keyOf(1)]).book
    assert.deepEqual(await reader.read(before.snapshot_id, never), before)
    await assert.rejects(reader.read(after.snapshot_id, never), { code: 'ENCRYPTION_KEY' })
    assert.deepEqual(await openBook(storage, [keyOf(3)]).book.read(after.snapshot_id, never), after)
  })

  test('that is plain is refused where keys are given, unless it is accepted', async () => {
    const storage = openMemoryStorage()
    const planted = await take(storage, [])
    const { book } = openBook(storage, [keyOf(1)])
    await assert.rejects(book.read(planted.snapshot_id, never), {
      code: 'ENCRYPTION_MISMATCH',
      message: /is not encrypted, but keys are given/,
      help: /--accept-plain-snapshot/,
    })
    assert.deepEqual((await book.list(never))[0]?.isEncrypted, false, 'it is listed')
    assert.deepEqual(await openBook(storage, [keyOf(1)], true).book.read(planted.snapshot_id, never), planted)
    await book.remove(planted.snapshot_id, never)
    assert.equal(storage.objects.size, 0)
  })

  test('of a command without a key is plain, and that command rolls back to it with a warning', async () => {
    const storage = openMemoryStorage()
    const { book, warned } = openBook(storage, [])
    const taken = await takeSnapshot([], { port: cluster(), book }, never)
    const key = `offset-snapshots/${taken.snapshot_id}.json`
    assert.deepEqual(await book.read(taken.snapshot_id, never), taken)
    assert.deepEqual(warned, [key, key])
  })

  test('that was exchanged, moved or changed does not open', async () => {
    const storage = openMemoryStorage()
    const [one, two] = [await take(storage, [keyOf(1)]), await take(storage, [keyOf(1)])]
    const [from, to] = [one, two].map(({ snapshot_id }) => `offset-snapshots/${snapshot_id}.json`) as [string, string]
    const { book } = openBook(storage, [keyOf(1)])
    storage.objects.set(to, storage.objects.get(from) ?? Buffer.alloc(0))
    await assert.rejects(book.read(two.snapshot_id, never), { code: 'ARCHIVE_DAMAGED' })
    const changed = Buffer.from(storage.objects.get(from) ?? [])
    changed[changed.length - 20] = (changed.at(-20) ?? 0) ^ 1
    storage.objects.set(from, changed)
    await assert.rejects(book.read(one.snapshot_id, never), { code: 'ARCHIVE_DAMAGED' })
  })

  test('is not written with keys that a writer without keys has put into the folder', async () => {
    const storage = openMemoryStorage()
    await take(storage, [keyOf(1)])
    const own = storage.objects.get(keysOne)?.toString() ?? ''
    const forger = openMemoryStorage()
    await take(forger, [keyOf(9)])
    const id = (text: string) => /"id": "([0-9a-f]{16})"/.exec(text)?.[1] ?? ''
    const forged = forger.objects.get(keysOne)?.toString() ?? ''
    const { checksum: _, ...content } = JSON.parse(forged.replaceAll(id(forged), id(own)))
    storage.objects.set(keysTwo, sealJson({ ...content, version: 2 }))
    storage.objects.set('offset-snapshots/keys/00000003.json', Buffer.from('{'))
    storage.objects.set('offset-snapshots/keys/99999999999999999999.json', Buffer.from('{'))
    const taken = await take(storage, [keyOf(1)])
    assert.deepEqual(await openBook(storage, [keyOf(1)]).book.read(taken.snapshot_id, never), taken)
    await assert.rejects(openBook(storage, [keyOf(9)]).book.read(taken.snapshot_id, never), { code: 'ENCRYPTION_KEY' })
  })

  test('is taken where the same key is given twice, by an option and by the environment', async () => {
    const storage = openMemoryStorage()
    const twice = [keyOf(1), { ...keyOf(1, 'environment'), from: 'KAFKA_BACKUP_KEY_FILE' }]
    const taken = await take(storage, twice)
    await take(storage, twice)
    assert.deepEqual(await openBook(storage, [keyOf(1)]).book.read(taken.snapshot_id, never), taken)
    assert.ok(!storage.objects.has(keysTwo))
  })

  test('is not written with a file that repeats a recipient, each of which would cost a try', async () => {
    const storage = openMemoryStorage()
    await take(storage, [keyOf(1)])
    const { checksum: _, ...content } = JSON.parse(storage.objects.get(keysOne)?.toString() ?? '')
    const recipients = Array.from({ length: 100 }, () => content.recipients[0])
    storage.objects.set(keysOne, sealJson({ ...content, recipients }))
    await take(storage, [keyOf(1)])
    assert.ok(storage.objects.has(keysTwo))
  })

  test('of another key is tried once in a list, however many there are', async () => {
    const storage = openMemoryStorage()
    for (let i = 0; i < 20; i++) await take(storage, [keyOf(1)])
    let reads = 0
    const read: MemoryStorage['read'] = (key, signal) => {
      if (key === keysOne) reads++
      return storage.read(key, signal)
    }
    const listed = await openBook(Object.assign(Object.create(storage), { read }), [keyOf(2)]).book.list(never)
    assert.deepEqual([listed.length, reads], [20, 1])
    for (const { key, error } of listed) {
      assert.ok(error?.code === 'ENCRYPTION_KEY' && error.message.startsWith(`the offset snapshot ${key} is encrypted`))
    }
  })

  test('of a key whose service does not answer is tried once in a list, and with the next file', async () => {
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' })
    const kms = await openFakeKms()
    const down = await startHttpScript(() => ({ status: 400, json: { __type: 'ThrottlingException' } }))
    try {
      const keyId = 'arn:aws:kms:eu-central-1:111122223333:key/0001'
      const at = (endpoint: string): Credential => ({ kind: 'aws_kms', keyId, endpoint, from: 'AWS KMS' })
      const storage = openMemoryStorage()
      const taken = await take(storage, [keyOf(1)])
      for (let i = 0; i < 3; i++) await take(storage, [at(kms.endpoint)])
      const listed = await openBook(storage, [at(down.url)]).book.list(never)
      assert.equal(listed.filter(({ error }) => error?.code === 'KMS_UNREACHABLE').length, 3)
      assert.ok(down.requests.length <= 3, `${down.requests.length} requests`)

      const [ofKey, ofKms] = [keysOne, keysTwo].map(key => JSON.parse(storage.objects.get(key)?.toString() ?? ''))
      const { checksum: _, ...content } = ofKms
      const dataKeys = [{ ...content.data_keys[0], id: ofKey.data_keys[0].id }]
      storage.objects.set(keysTwo, sealJson({ ...content, data_keys: dataKeys }))
      const vault = openBook(storage, [at(down.url), keyOf(1)]).book
      assert.deepEqual(await vault.read(taken.snapshot_id, never), taken)
    } finally {
      await kms.close()
      await down.close()
    }
  })

  test('opens also where another file claims its data key', async () => {
    const storage = openMemoryStorage()
    const taken = await take(storage, [keyOf(1)])
    const { checksum: _, ...content } = JSON.parse(storage.objects.get(keysOne)?.toString() ?? '')
    const [dataKey] = content.data_keys
    const wrapped = dataKey.wrapped.map((one: object) => ({ ...one, nonce: Buffer.alloc(12).toString('base64') }))
    storage.objects.set(keysTwo, sealJson({ ...content, version: 2, data_keys: [{ ...dataKey, wrapped }] }))
    assert.deepEqual(await openBook(storage, [keyOf(1)]).book.read(taken.snapshot_id, never), taken)
  })

  test('whose keys file was removed says so', async () => {
    const storage = openMemoryStorage()
    const taken = await take(storage, [keyOf(1)])
    storage.objects.delete(keysOne)
    await assert.rejects(openBook(storage, [keyOf(1)]).book.read(taken.snapshot_id, never), {
      code: 'ARCHIVE_DAMAGED',
      message: /which no file in offset-snapshots\/keys\/ holds/,
    })
  })
})

test('two commands that take the first snapshot at once both keep one that opens', async () => {
  const storage = openMemoryStorage()
  const taken = await Promise.all([take(storage, [keyOf(1)]), take(storage, [keyOf(1)]), take(storage, [keyOf(2)])])
  for (const [index, snapshot] of taken.entries()) {
    const { book } = openBook(storage, [keyOf(index === 2 ? 2 : 1)])
    assert.deepEqual(await book.read(snapshot.snapshot_id, never), snapshot)
  }
})

test('what is encrypted at a location is found without a key', async () => {
  const storage = openMemoryStorage()
  await withEncryption(storage, givenKeys([])).create('plain/manifests/00000001.json', Buffer.from('{}'), never)
  assert.equal(await describeEncrypted(storage, never), undefined)
  await take(storage, [keyOf(1)])
  assert.equal(await describeEncrypted(storage, never), 'other snapshots at memory are')
  const other = openMemoryStorage()
  await withEncryption(other, ownKeys([keyOf(1)])).keysFor('b1', never)
  assert.equal(await describeEncrypted(other, never), 'the backup `b1` at memory is')
})

describe('the rewrap of a backup', () => {
  async function encryptedBackup(storage: MemoryStorage, backupId: string, recipients: readonly Credential[]) {
    const encrypted = withEncryption(storage, ownKeys(recipients, false, backupId))
    await encrypted.create(`${backupId}/manifest.json`, Buffer.from('{}'), never)
  }
  const rewrap = (storage: Storage, recipients: readonly Credential[], present: readonly Credential[]) =>
    rewrapKeys(storage, { backupId: 'b1', recipients, present, isDataKeyNew: false }, systemClock, never)
  const opens = async (storage: MemoryStorage, id: string, credential: Credential) =>
    openBook(storage, [credential])
      .book.read(id, never)
      .then(
        () => true,
        error => !hasCode(error, 'ENCRYPTION_KEY'),
      )

  test('opens its offset snapshots to the new recipients and closes them to the former ones', async () => {
    const storage = openMemoryStorage()
    await encryptedBackup(storage, 'b1', [keyOf(1), keyOf(2)])
    const [both, one] = [await take(storage, [keyOf(1), keyOf(2)]), await take(storage, [keyOf(1)])]
    const foreign = await take(storage, [keyOf(1), keyOf(9)])
    const { snapshots } = await rewrap(storage, [keyOf(2), keyOf(3)], [keyOf(1)])
    assert.deepEqual(snapshots, { rewrapped: 2, kept: [] })
    for (const { snapshot_id: id } of [both, one]) {
      for (const credential of [keyOf(2), keyOf(3)]) assert.equal(await opens(storage, id, credential), true, id)
      assert.equal(await opens(storage, id, keyOf(1)), false, id)
    }
    assert.equal(await opens(storage, foreign.snapshot_id, keyOf(1)), true, 'other recipients keep what is theirs')
    assert.equal(await opens(storage, foreign.snapshot_id, keyOf(3)), false)
  })

  test('adds a recipient to its offset snapshots, and repeating it changes nothing', async () => {
    const storage = openMemoryStorage()
    await encryptedBackup(storage, 'b1', [keyOf(1)])
    const { snapshot_id: id } = await take(storage, [keyOf(1)])
    assert.equal((await rewrap(storage, [keyOf(1), keyOf(2)], [])).snapshots.rewrapped, 1)
    assert.deepEqual([await opens(storage, id, keyOf(1)), await opens(storage, id, keyOf(2))], [true, true])
    assert.deepEqual((await rewrap(storage, [keyOf(1), keyOf(2)], [])).snapshots, { rewrapped: 0, kept: [] })
  })

  test('leaves offset snapshots open to a former recipient that another backup still has, and says so', async () => {
    const storage = openMemoryStorage()
    await encryptedBackup(storage, 'b1', [keyOf(1)])
    await encryptedBackup(storage, 'b2', [keyOf(1)])
    const { snapshot_id: id } = await take(storage, [keyOf(1)])
    const { snapshots } = await rewrap(storage, [keyOf(2)], [keyOf(1)])
    assert.equal(snapshots.rewrapped, 1)
    assert.match(snapshots.kept[0]?.reason ?? '', /^backup `b2` still opens with key [0-9a-f]+/)
    assert.deepEqual([await opens(storage, id, keyOf(1)), await opens(storage, id, keyOf(2))], [true, true])
  })

  test('names a planted file that no key opens, and rewraps the rest', async () => {
    const storage = openMemoryStorage()
    await encryptedBackup(storage, 'b1', [keyOf(1)])
    const { snapshot_id: id } = await take(storage, [keyOf(1)])
    const planted = JSON.parse(storage.objects.get(keysOne)?.toString('utf8') ?? '')
    planted.data_keys[0].wrapped[0].bytes = Buffer.alloc(48).toString('base64')
    const { checksum: _, ...document } = planted
    storage.objects.set(keysTwo, sealJson({ ...document, version: 2 }))
    const { snapshots } = await rewrap(storage, [keyOf(2)], [keyOf(1)])
    assert.equal(snapshots.rewrapped, 1)
    assert.deepEqual(
      snapshots.kept.map(({ key }) => key),
      [keysTwo],
    )
    assert.deepEqual([await opens(storage, id, keyOf(1)), await opens(storage, id, keyOf(2))], [false, true])
  })

  test('that dies after it rewrapped the offset snapshots can be repeated', async () => {
    const storage = openMemoryStorage()
    await encryptedBackup(storage, 'b1', [keyOf(1)])
    const { snapshot_id: id } = await take(storage, [keyOf(1)])
    const create: Storage['create'] = async (key, body, signal) => {
      if (key.startsWith('b1/keys/')) throw new Error('died')
      return storage.create(key, body, signal)
    }
    await assert.rejects(rewrap({ ...storage, create }, [keyOf(2)], [keyOf(1)]), /died/)
    await rewrap(storage, [keyOf(2)], [keyOf(1)])
    assert.deepEqual([await opens(storage, id, keyOf(1)), await opens(storage, id, keyOf(2))], [false, true])
  })
})
