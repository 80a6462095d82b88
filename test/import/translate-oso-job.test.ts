import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseDocument } from 'yaml'
import { readJob } from '../../src/config/load-job.ts'
import { translateOsoJob } from '../../src/import/translate-oso-job.ts'

const translate = (text: string) => translateOsoJob(parseDocument(text).toJS())

describe('translateOsoJob', () => {
  test('translates a backup job to one that loads', () => {
    const { job, notes } = translate(`
mode: backup
backup_id: daily
source:
  bootstrap_servers: [kafka-1:9093, kafka-2:9093]
  topics: { include: ['orders-*'], exclude: ['*-test'] }
  security:
    security_protocol: SASL_SSL
    sasl_mechanism: SCRAM-SHA512
    sasl_username: backup
    sasl_password: secret
    ssl_ca_location: /etc/kafka/ca.pem
storage: { backend: s3, bucket: my-backups, region: eu-central-1, prefix: prod/, access_key: a, secret_key: b, path_style: false }
backup: { compression: lz4, segment_max_bytes: 52428800, continuous: false, start_offset: latest, max_concurrent_partitions: 8 }
metrics: { port: 9090 }
`)
    const loaded = readJob(job, { source: 'translated', mode: 'backup' })
    assert.deepEqual(loaded.source.topics, { include: ['orders-*'], exclude: ['*-test'] })
    assert.equal(loaded.backup.segmentBytes, 52_428_800)
    const { security } = loaded.source
    assert.deepEqual([security?.protocol, security?.sasl?.mechanism], ['SASL_SSL', 'SCRAM-SHA-512'])
    assert.deepEqual([loaded.storage.backend, 'prefix' in loaded.storage && loaded.storage.prefix], ['s3', 'prod'])
    assert.equal(loaded.metrics?.listen, '0.0.0.0:9090')
    for (const path of ['backup.compression', 'backup.start_offset', 'backup.max_concurrent_partitions', 'metrics']) {
      assert.ok(
        notes.some(note => note.startsWith(`${path}: `)),
        `${path} in ${notes.join('\n')}`,
      )
    }
  })

  test('translates a restore job to one that loads', () => {
    const { job, notes } = translate(`
mode: restore
backup_id: daily
target: { bootstrap_servers: [kafka:9092], topics: { include: [orders, '~pay.*'] } }
storage: { backend: filesystem, path: /backups }
restore:
  time_window_start: 1736899200000
  time_window_end: 1736985600000
  topic_mapping: { orders: orders-2 }
  consumer_groups: [billing]
  purge_topics: true
  dry_run: true
`)
    const { target, restore } = job as { target: object; restore: { topics: { include: string[] } } }
    assert.ok(!('topics' in target))
    const loaded = readJob(
      { ...job, restore: { ...restore, topics: { include: ['orders'] } } },
      { source: 'translated', mode: 'restore' },
    )
    assert.deepEqual(
      [loaded.restore.timeWindowStartMs, loaded.restore.timeWindowEndMs],
      [1736899200000n, 1736985600001n],
    )
    assert.deepEqual([...loaded.restore.topicMapping], [['orders', 'orders-2']])
    assert.deepEqual(loaded.restore.consumerGroups.include, ['billing'])
    for (const text of [
      /~pay\.\* has no counterpart/,
      /^restore\.purge_topics: .*never deletes topics/,
      /--dry-run/,
      /kafka-backup import/,
    ]) {
      assert.ok(
        notes.some(note => text.test(note)),
        String(text),
      )
    }
  })

  test('notes every field that it does not know, and survives any document', () => {
    const { notes } = translate(
      'mode: backup\nbackup_id: x\nnew_section: 1\nbackup: { new_field: 2 }\nstorage: { backend: ftp }\n',
    )
    for (const text of [
      'new_section: not translated',
      'backup.new_field: not translated',
      'storage.backend: ftp is not known',
    ]) {
      assert.ok(
        notes.some(note => note.startsWith(text)),
        text,
      )
    }
    for (const document of [null, 5, 'x', [], { source: [] }]) assert.ok(translateOsoJob(document).notes.length > 0)
  })
})
