import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type RegistrySnapshot, splitSubject } from '../../src/archive/registry-model.ts'
import { hasCode } from '../../src/errors.ts'
import { backupSchemas, type ProgressEvent, restoreSchemas } from '../../src/index.ts'
import type { SchemaRestoreReport } from '../../src/jobs/schemas.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { openRegistryClient, type RegistryClient } from '../../src/registry/client/client.ts'
import { readSnapshot } from '../../src/registry/client/read-snapshot.ts'
import { JournalBook } from '../../src/registry/restore/journal.ts'
import {
  restoreSchemas as carryOutRestore,
  type RestoredSchemas,
  surveySchemas,
} from '../../src/registry/restore/restore-schemas.ts'
import type { SchemaOptions, Survey } from '../../src/registry/restore/survey-target.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { isWrite, type ProxiedCall, startRegistryProxy } from '../fakes/registry-proxy.ts'
import { versionOf } from '../fakes/registry-snapshots.ts'
import { sampleRegistry } from '../registry/restore/sample-registry.ts'
import { backUp, never, openJournals, usual } from '../registry/restore/schema-stage.ts'
import type { Apicurio } from '../servers/apicurio.ts'
import { shareApicurio } from '../servers/shared-apicurio.ts'
import { openRegistry, register } from './schema-world.ts'

describe('a restore of schemas into Apicurio', () => {
  const storage = openMemoryStorage()
  const calls: ProxiedCall[] = []
  let death = new AbortController()
  let writesToLive = Infinity
  /** Called before a write reaches the registry. */
  let onWrite: () => Promise<void> = async () => undefined
  let apicurio: Apicurio
  let proxy: Awaited<ReturnType<typeof startRegistryProxy>>
  let client: RegistryClient
  let backup: RegistrySnapshot
  let restored: RestoredSchemas

  before(async () => {
    apicurio = await shareApicurio()
    proxy = await startRegistryProxy(apicurio.origin, async call => {
      calls.push(call)
      if (isForeignWrite(call)) await onWrite()
      // The last write takes effect, and nothing after it.
      if (death.signal.aborted) return { kind: 'cut-before' }
      const isLast = isForeignWrite(call) && --writesToLive === 0
      if (isLast) death.abort(new Error('died'))
      return { kind: isLast ? 'cut-after' : 'pass' }
    })
    client = await openRegistryClient({ urls: [apicurio.url.replace(apicurio.origin, proxy.url)] })
    // IDs of the target must not happen to be those of the source.
    const taken = Array.from({ length: 70 }, (_, at) =>
      occupy(`taken-${at}`, `{"type":"fixed","name":"t${at}","size":1}`),
    )
    await Promise.all(taken)
    // What is incompatible is let in for the time only.
    await client.call({ method: 'PUT', path: '/config', body: { compatibility: 'FULL' } }, never)
    await occupy('sparse', versionOf('sparse', 1, 51).schema)
    await client.call({ method: 'PUT', path: '/config/sparse', body: { compatibility: 'BACKWARD' } }, never)
    backup = await backUp(sampleRegistry())
  })

  after(async () => {
    client.close()
    await proxy.close()
    await apicurio.stop()
  })

  test('is refused with force_ids before any write, because Apicurio assigns IDs itself (case 32)', async () => {
    calls.length = 0
    const { plan } = await survey({ forceIds: true })
    const refused = plan.conflicts.find(({ kind }) => kind === 'unsupported')
    assert.match(
      refused?.message ?? '',
      /^the target registry \(apicurio\) gives IDs itself, so that restore\.force_ids/,
    )
    assert.deepEqual(calls.filter(isForeignWrite), [])
  })

  test('resumes after a killed run (case 26)', async () => {
    writesToLive = 25
    await assert.rejects(restore({ setCompatibility: 'NONE' }), /died/)
    death = new AbortController()
    assert.equal(openJournals({ storage }).length, 1)
    assert.equal((await readSnapshot(client, {}, never)).global.compatibility, 'NONE')
    restored = await restore({ setCompatibility: 'NONE' })
    assert.ok(restored.report.versions.keep > 10)
    assert.deepEqual(openJournals({ storage }), [])
  })

  test('maps every source ID to an ID of the same schema', async () => {
    const after = await readSnapshot(client, {}, never)
    for (const { subject, id, schema, schemaType } of backup.versions) {
      const mapped = restored.idMap.get(splitSubject(subject).context, id)
      const found = after.versions.find(one => one.id === mapped && one.schema === schema)
      assert.deepEqual([found?.schema, found?.schemaType], [schema, schemaType], `${subject} ${id}`)
    }
  })

  test('reports what the registry cannot store (case 31)', () => {
    const told = restored.report.notes.map(({ subject, message }) => `${subject}: ${message}`).join('\n')
    assert.match(told, /^contract: .*does not keep the metadata/m)
    assert.match(told, /^:\.eu:orders: .*has no contexts/m)
    assert.match(told, /^closed: .*does not keep the mode READONLY/m)
    assert.match(told, /^:\.eu:orders: .*does not keep the level NONE/m)
    assert.match(told, /^null: .*does not keep the settings of the context \.eu$/m)
    assert.match(told, /^tuned: .*does not keep the settings normalize/m)
  })

  test('leaves the compatibility levels of the source, and no temporary one', async () => {
    const { subjects, global } = await readSnapshot(client, {}, never)
    assert.equal(subjects.get('Chain1')?.compatibility, 'FULL')
    assert.equal(subjects.get('tuned')?.compatibility, 'FORWARD')
    assert.equal(subjects.get('Chain5')?.compatibility, null)
    assert.equal(subjects.get('sparse')?.compatibility, 'BACKWARD')
    assert.equal(global.compatibility, 'FULL')
  })

  test('writes nothing in a second run, which finds the same IDs (case 26)', async () => {
    calls.length = 0
    const again = await restore({ setCompatibility: 'NONE' })
    assert.deepEqual(calls.filter(isForeignWrite), [])
    assert.equal(again.idMap.digest, restored.idMap.digest)
    const told = (notes: RestoredSchemas['report']['notes']) => notes.map(({ kind, subject }) => `${kind} ${subject}`)
    assert.deepEqual(told(again.report.notes).sort(), told(restored.report.notes).sort())
    assert.deepEqual(openJournals({ storage }), [])
  })

  const concurrent = 'waits while another restore writes to the same registry, and then has nothing left to write'
  test(concurrent, { timeout: 300_000 }, async () => {
    const path = await mkdtemp(join(tmpdir(), 'kafka-backup-lease-'))
    await using source = await openRegistry()
    try {
      const subjects = ['lease-a', 'lease-b', 'lease-c']
      for (const subject of subjects) await register(source.server.url, { subject, type: 'AVRO', schema: '"string"' })
      const storage = { backend: 'filesystem', path } as const
      const common = { backup_id: 'lease', storage }
      const sectionOf = (url: string) => ({ schema_registry: { enabled: true, url } })
      await backupSchemas({ mode: 'backup', ...common, enterprise: sectionOf(source.server.url) })
      const job = { mode: 'restore', ...common, enterprise: sectionOf(client.name) } as const
      const [begun, waiting, gate] = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
      assert.ok(begun && waiting && gate)
      onWrite = () => {
        begun.resolve()
        return gate.promise
      }
      calls.length = 0
      const first = restoreSchemas(job)
      await Promise.race([begun.promise, first])
      const onProgress = (event: ProgressEvent) => {
        if ('message' in event && /is being written by another run/.test(event.message)) waiting.resolve()
      }
      // A first one that runs for long renews its lease and refuses the second, which is then run again.
      const runAgain = async (error: unknown): Promise<SchemaRestoreReport> => {
        assert.ok(hasCode(error, 'WRITER_CONFLICT'), String(error))
        waiting.resolve()
        return restoreSchemas(job).catch(runAgain)
      }
      const second = restoreSchemas(job, { onProgress }).catch(runAgain)
      await Promise.race([waiting.promise, second])
      gate.resolve()
      const reports = await Promise.all([first, second])
      assert.deepEqual(
        reports.map(({ wasComplete }) => wasComplete),
        [false, true],
      )
      assert.deepEqual(reports[1]?.ids, reports[0]?.ids)
      const registered = calls.flatMap(
        ({ method, target }) => (method === 'POST' && /\/subjects\/([^/]+)\/versions/.exec(target)?.[1]) || [],
      )
      assert.deepEqual(registered.sort(), subjects)
    } finally {
      onWrite = async () => undefined
      await rm(path, { recursive: true })
    }
  })

  function isForeignWrite({ method, target }: ProxiedCall): boolean {
    return isWrite({ method, target: target.replace('/apis/ccompat/v7', '') })
  }

  function book(): JournalBook {
    return new JournalBook(
      { storage, clock: systemClock, newRun: () => String(storage.objects.size) },
      { backupId: 'b', registry: 'r' },
    )
  }

  function survey(options: Partial<SchemaOptions>): Promise<Survey> {
    return surveySchemas(backup, { ...usual, ...options }, { client, journal: book() }, never)
  }

  async function restore(options: Partial<SchemaOptions>): Promise<RestoredSchemas> {
    const journal = book()
    const found = await surveySchemas(backup, { ...usual, ...options }, { client, journal }, death.signal)
    assert.deepEqual(found.plan.conflicts, [])
    return carryOutRestore(
      backup,
      found,
      { client, journal, clock: systemClock, onProgress: () => undefined },
      death.signal,
    )
  }

  async function occupy(subject: string, schema: string): Promise<void> {
    await client.call({ method: 'POST', path: `/subjects/${subject}/versions`, body: { schema } }, never)
  }
})
