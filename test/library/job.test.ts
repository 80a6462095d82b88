import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import { hasCode } from '../../src/errors.ts'
import { type BackupJobDocument, backup, loadJob, type RestoreJobDocument, restore } from '../../src/index.ts'

const backupDocument: BackupJobDocument = {
  mode: 'backup',
  backup_id: 'orders',
  source: { bootstrap_servers: ['kafka-1:9092'], topics: { include: ['orders'] } },
  storage: { backend: 'filesystem', path: '/backups' },
  backup: { segment_bytes: '64MiB', commit_interval: '30s' },
}

const restoreDocument: RestoreJobDocument = {
  mode: 'restore',
  backup_id: 'orders',
  target: { bootstrap_servers: 'kafka-2:9092' },
  storage: { backend: 'filesystem', path: '/backups' },
  restore: {
    topic_mapping: { orders: 'orders-2' },
    offset_ranges: { 'orders/0': { start: 10n, end: 2n ** 60n } },
    partition_mapping: { orders: { 0: 1, 1: 0 } },
    topic_config: { 'retention.ms': -1 },
  },
}

describe('a job', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  test('that is an object means what the same file means', async () => {
    const path = join(folder, 'job.yaml')
    await writeFile(path, JSON.stringify(backupDocument))
    assert.deepEqual(await loadJob(backupDocument), await loadJob(path, { mode: 'backup' }))
    const { restore: options } = await loadJob(restoreDocument)
    assert.deepEqual(options.offsetRanges, new Map([['orders/0', { start: 10n, end: 2n ** 60n }]]))
    assert.deepEqual(
      [...(options.partitionMapping.get('orders') ?? [])],
      [
        [0, 1],
        [1, 0],
      ],
    )
    assert.equal(options.topicConfig.get('retention.ms'), '-1')
  })

  test('that is wrong is told as for a file, all of it with the paths of the fields', async () => {
    const wrong = {
      ...backupDocument,
      source: { bootstrap_server: ['kafka-1:9092'], topics: { include: [] } },
      backup: { commit_interval: 30, compression: 'zst' },
    }
    const text = JSON.stringify(wrong)
    const told = (error: unknown) => (hasCode(error, 'CONFIG_INVALID') ? error.message.split('\n') : [])
    const ofFile = await catchError(() => parseJob(text, { source: 'the job', env: {} })).then(told)
    // @ts-expect-error A program in JavaScript may pass anything.
    const ofObject = await loadJob(wrong).then(() => [], told)
    const isPlaced = / \[line 1\]$/
    assert.deepEqual(ofObject.toSorted(), ofFile.map(line => line.replace(isPlaced, '')).toSorted())
    assert.ok(
      ofObject.some(line => line.includes('source.bootstrap_server: is not a known key')),
      ofObject.join('\n'),
    )
    assert.ok(
      ofObject.some(line => line.includes('backup.commit_interval: 30 has no unit')),
      ofObject.join('\n'),
    )
  })

  test('has typed keys and values', () => {
    // @ts-expect-error A mistyped key.
    const _key: BackupJobDocument['source'] = { ...backupDocument.source, bootstrapServers: [] }
    // @ts-expect-error An unknown choice.
    const _choice: RestoreJobDocument['restore'] = { existing_topics: 'overwrite' }
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable.
    const reference: RestoreJobDocument['restore'] = { existing_topics: '${POLICY}' }
    assert.ok(reference)
  })

  test('with a Map, an instance or itself inside is refused by path, not read as empty', async () => {
    const circle: Record<string, unknown> = {}
    circle.topics = circle
    for (const [restore, told] of [
      [{ topic_mapping: new Map([['a', 'b']]) }, 'restore.topic_mapping: is an instance of Map'],
      [{ time_window_start: new Date(0) }, 'restore.time_window_start: is an instance of Date'],
      [circle, 'restore.topics: holds itself'],
    ] as const) {
      // @ts-expect-error What the types forbid may come all the same.
      await assert.rejects(loadJob({ ...restoreDocument, restore }), (error: unknown) => {
        assert.ok(hasCode(error, 'CONFIG_INVALID'))
        assert.ok(error.message.includes(told), error.message)
        return true
      })
    }
  })

  test('may have keys without a value, as programs make them', async () => {
    const source = { ...backupDocument.source, client_rack: undefined }
    // @ts-expect-error The types of strict programs leave them out; others need not.
    const job = await loadJob({ ...backupDocument, source, metrics: undefined })
    assert.deepEqual(job, await loadJob(backupDocument))
  })

  test('that is an object gets variables only where they are handed over', async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable.
    const document = { ...backupDocument, source: { ...backupDocument.source, client_id: '${HOME}' } }
    await assert.rejects(loadJob(document), /source\.client_id/)
    const { source } = await loadJob(document, { env: { HOME: 'me' } })
    assert.equal(source.clientId, 'me')
  })

  test('can be changed with the settings of --set', async () => {
    const { backup } = await loadJob(backupDocument, { set: ['backup.compression=none'] })
    assert.equal(backup.compression, 'none')
  })

  test('is loaded once: what loadJob answered with is taken as it is, and a copy of it is not', async () => {
    const job = await loadJob(backupDocument)
    assert.equal(await loadJob(job), job)
    await assert.rejects(loadJob({ ...job }), /backupId: is not a known key.*did you mean `backup_id`/s)
  })

  test('of another mode is refused', async () => {
    const refused = (error: unknown) => hasCode(error, 'CONFIG_INVALID') && error.message.includes('mode')
    // @ts-expect-error A job of the other mode.
    await assert.rejects(restore(backupDocument), refused)
    // @ts-expect-error The same.
    await assert.rejects(backup(restoreDocument), refused)
    const loaded = await loadJob(restoreDocument)
    // @ts-expect-error Also when it was checked before.
    await assert.rejects(backup(loaded), (error: unknown) => hasCode(error, 'CONFIG_INVALID'))
  })

  test('whose file is not there is unreadable', async () => {
    await assert.rejects(backup(join(folder, 'none.yaml')), (error: unknown) => hasCode(error, 'CONFIG_UNREADABLE'))
  })
})

async function catchError(work: () => unknown): Promise<unknown> {
  try {
    await work()
  } catch (error) {
    return error
  }
  return assert.fail('it should have failed')
}
