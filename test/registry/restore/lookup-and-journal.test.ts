import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { openRegistryClient } from '../../../src/registry/client/client.ts'
import { JournalBook } from '../../../src/registry/restore/journal.ts'
import { restoreSchemas, surveySchemas, surveyWhileReading } from '../../../src/registry/restore/restore-schemas.ts'
import { openRegistryServer } from '../../../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../../../src/registry/serve/registry-store.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'

const never = new AbortController().signal
const wish = {
  strategy: 'lookup',
  forceIds: false,
  subjectMapping: new Map(),
  setCompatibility: undefined,
  forceRegister: false,
  schemaTypes: ['AVRO', 'JSON', 'PROTOBUF'],
  acceptLoss: [],
  idOverrides: new Map(),
} as const

test('a run that only looks IDs up leaves the journal of a run that died to one that can put settings back', async t => {
  const held = snapshotOf([versionOf('a', 1, 1)], { subjects: { a: { compatibility: 'NONE' } } })
  const server = await openRegistryServer({ store: new RegistryStore({}, held), host: '127.0.0.1', port: 0 })
  t.after(() => server.close())
  const clock = new JumpingClock()
  const client = await openRegistryClient({ urls: [server.url] }, { clock })
  t.after(() => client.close())
  const storage = openMemoryStorage()
  const openBook = () => new JournalBook({ storage, clock, newRun: () => 'run1' }, { backupId: 'b', registry: 'r' })
  const settings = [
    { scope: { kind: 'subject' as const, subject: 'a' }, compatibility: 'FULL', mode: null, config: null },
  ]
  const made = { registered: ['a@1'], fillers: [], imported: [] }
  const died = { settings, emptyContexts: [], createdSubjects: [], modesNotRead: [], ...made }
  await openBook().write(died, never)

  const journal = openBook()
  const survey = await surveySchemas(held, wish, { client, journal }, never)
  await restoreSchemas(held, survey, { client, journal, clock, onProgress: () => undefined }, never)
  await journal.close(never)
  assert.deepEqual((await openBook().read(never)).unfinished, died)
})

test('what is wrong with the backup is reported, and the reading of a registry that does not answer ends', async t => {
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>()
  const mute = createServer(() => onAsked())
  await new Promise<void>(resolve => mute.listen(0, '127.0.0.1', resolve))
  t.after(() => mute.close())
  const { port } = mute.address() as AddressInfo
  const client = await openRegistryClient({ urls: [`http://127.0.0.1:${port}`] })
  t.after(() => client.close())
  const journal = new JournalBook(
    { storage: openMemoryStorage(), clock: new JumpingClock(), newRun: () => 'run1' },
    { backupId: 'b', registry: 'r' },
  )
  const readBackup = async () => {
    await asked
    throw new Error('the backup is damaged')
  }
  const aborted = new Promise<void>(resolve => mute.on('connection', socket => socket.on('close', () => resolve())))
  await assert.rejects(surveyWhileReading(readBackup, wish, { client, journal }, never), /the backup is damaged/)
  await aborted
})
