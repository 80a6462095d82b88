import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { openRegistryClient } from '../../src/registry/client/client.ts'
import { openRegistryServer } from '../../src/registry/server/open-registry-server.ts'
import { RegistryStore } from '../../src/registry/server/registry-store.ts'
import { JournalBook } from '../../src/schemas/journal.ts'
import { restoreSchemas, surveySchemas } from '../../src/schemas/restore-schemas.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'

const never = new AbortController().signal
const wish = {
  strategy: 'preserve',
  forceIds: false,
  subjectMapping: new Map(),
  setCompatibility: undefined,
  forceRegister: false,
  schemaTypes: ['AVRO', 'JSON', 'PROTOBUF'],
  idOverrides: new Map(),
} as const

test('a restore of schemas that fails tells whose levels and modes it has left changed', async t => {
  const server = await openRegistryServer({ store: new RegistryStore(), host: '127.0.0.1', port: 0 })
  t.after(() => server.close())
  const clock = new JumpingClock()
  const client = await openRegistryClient({ urls: [server.url] }, { clock })
  t.after(() => client.close())
  const journal = new JournalBook(
    { storage: openMemoryStorage(), clock, newRun: () => 'run1' },
    { backupId: 'b', registry: 'r' },
  )
  const backup = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2, { schema: 'no schema' })])
  const survey = await surveySchemas(backup, { ...wish, setCompatibility: 'NONE' }, { client, journal }, never)
  const warned: string[] = []
  const onProgress = (event: ProgressEvent) => {
    if (event.type === 'warning') warned.push(event.message)
  }
  await assert.rejects(restoreSchemas(backup, survey, { client, journal, clock, onProgress }, never), {
    code: 'REGISTRY_REFUSED',
    message: /^Schema registration failed for subject a/,
  })
  assert.equal(warned.length, 1)
  assert.match(warned[0] ?? '', /levels or modes of subject a may still be .* run the same command again/)
})
