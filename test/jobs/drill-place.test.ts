import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { evidenceElsewhere, evidenceInBackup, newestEvidence } from '../../src/jobs/drill-place.ts'
import { givenKeys, keyOf, never, ownKeys } from '../encryption/samples.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const folder = 'b1/drills/20260101t000000000z-0123456789abcdef'

test('evidence in the folder of an encrypted backup is encrypted, also for a drill that only has its key', async () => {
  const [inner, key] = [openMemoryStorage(), keyOf()]
  await withEncryption(inner, ownKeys([key])).create('b1/manifests/00000001.json', Buffer.from('{}'), never)
  const place = evidenceInBackup(withEncryption(inner, givenKeys([key])), 'b1')
  await place.storage.create(`${folder}/evidence.json`, Buffer.from('names the topic orders'), never)
  const stored = await inner.read(`b1/reports/evidence/${folder.slice(3)}/evidence.json`, never)
  assert.ok(!stored.includes('orders'))
  const { files } = await newestEvidence(place, 'b1', never)
  assert.equal(String(await files.read('evidence.json', never)), 'names the topic orders')
  const locked = evidenceInBackup(withEncryption(inner, givenKeys([])), 'b1')
  await assert.rejects(
    newestEvidence(locked, 'b1', never).then(found => found.files.read('evidence.json', never)),
    { code: 'ENCRYPTION_KEY' },
  )
})

test('the newest evidence is that of the latest drill that has written all of it', async () => {
  const place = evidenceInBackup(openMemoryStorage(), 'b1')
  await assert.rejects(newestEvidence(place, 'b1', never), {
    code: 'STORAGE_NOT_FOUND',
    message: /no evidence of a drill/,
  })
  const write = (time: string, name: string) =>
    place.storage.create(`b1/drills/${time}-0123456789abcdef/${name}`, Buffer.from(time), never)
  await write('20260102t000000000z', 'evidence.json')
  await write('20260101t000000000z', 'evidence.json')
  await write('20260103t000000000z', 'unfinished.json')
  const { files } = await newestEvidence(place, 'b1', never)
  assert.equal(String(await files.read('evidence.json', never)), '20260102t000000000z')
})

test('another location for the evidence must not be that of the backup', () => {
  const storage = openMemoryStorage()
  assert.throws(() => evidenceElsewhere(storage, storage), { code: 'USAGE', message: /leave it out to keep/ })
})
