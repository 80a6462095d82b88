import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { loadJob } from '../../src/config/load-job.ts'
import { errorOf, errorsOf, minimalJob, parse } from './job-texts.ts'

test('a key at the wrong place is refused with the place where it belongs', () => {
  const places: Record<string, string> = {
    schema_registry: 'enterprise.schema_registry',
    schemaRegistry: 'enterprise.schema_registry',
    topics: 'source.topics',
    bootstrap_servers: 'source.bootstrap_servers',
    commit_interval: 'backup.commit_interval',
    segment_bytes: 'backup.segment_bytes',
    keep_last: 'retention.keep_last',
    listen: 'metrics.listen',
  }
  for (const [key, place] of Object.entries(places)) {
    assert.ok(
      errorsOf(`${minimalJob}${key}: {a: 1}\n`).some(
        line => line.includes(`${key}: is not a known key`) && line.includes(`(did you mean \`${place}\`?)`),
      ),
      key,
    )
  }
  // A name that several fields have leads nowhere.
  assert.doesNotMatch(errorsOf(`${minimalJob}description: {a: 1}\n`).join(), /did you mean/)
})

describe('a job that leaves out all it may', () => {
  test('has every default, in bytes and milliseconds', () => {
    assert.deepEqual(parse(minimalJob), {
      mode: 'backup',
      backupId: 'nightly',
      source: {
        bootstrapServers: ['kafka-1:9092'],
        clientId: 'kafka-backup',
        requestTimeoutMs: 30_000,
        topics: { include: ['*'], exclude: [] },
      },
      storage: { backend: 'filesystem', path: '/backups' },
      backup: {
        compression: 'auto',
        segmentBytes: 134_217_728,
        missingTopics: 'fail',
        onGap: 'warn',
        onTruncation: 'fail',
        consumerGroups: { include: ['*'], exclude: [] },
        acls: false,
        quotas: false,
        users: false,
        continuous: false,
        compactedReread: 'auto',
        compactedRereadIntervalMs: 3_600_000,
        commitIntervalMs: 60_000,
        pollIntervalMs: 60_000,
        leaseDurationMs: 120_000,
        mergeAfterMs: 86_400_000,
        memoryBudgetBytes: 100_663_296,
        connectionsPerBroker: 2,
      },
    })
  })
})

describe('loadJob', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'load-job-'))
  })
  after(() => rm(folder, { recursive: true }))

  test('reads, overrides and replaces variables of a file', async () => {
    const path = join(folder, 'job.yaml')
    await writeFile(path, minimalJob.replace('/backups', `\${DIR}`))
    const job = await loadJob(path, { env: { DIR: '/mnt' }, set: ['backup_id=weekly'] })
    assert.deepEqual(job.storage, { backend: 'filesystem', path: '/mnt' })
    assert.equal(job.backupId, 'weekly')
  })

  test('names the file in front of what is wrong in it', async () => {
    const path = join(folder, 'bad.yaml')
    await writeFile(path, minimalJob.replace('nightly', '.nightly'))
    await assert.rejects(loadJob(path, { env: {} }), (error: Error) => error.message.startsWith(`${path}: 1 error\n`))
  })

  test('says that a file is missing, a folder, or not text', async () => {
    const binary = join(folder, 'binary.yaml')
    await writeFile(binary, Buffer.from([0x61, 0xff, 0xfe]))
    const unreadable = { code: 'CONFIG_UNREADABLE', exitCode: 2 }
    const load = (path: string) => loadJob(path, { env: {} })
    await assert.rejects(load(join(folder, 'none.yaml')), { ...unreadable, message: /there is no such job file/ })
    await assert.rejects(load(folder), { ...unreadable, message: /this is a folder/ })
    await assert.rejects(load(binary), { ...unreadable, message: /not UTF-8/ })
  })
})

describe('the YAML of a job file', () => {
  const faults: Record<string, [text: string, expected: string]> = {
    'a key given twice is named with line and column': [
      'a: 1\nb:\n  c: 1\n  c: 2\n',
      'line 4:3: the key `c` is given a second time in the same map',
    ],
    'a tab in the indentation is named': ['a:\n\tb: 1\n', 'line 2:1: a tab in the indentation; use spaces'],
    'a second document is refused': [
      'a: 1\n---\nb: 2\n',
      'line 2:1: a second document begins (---); a job file holds one',
    ],
    'an unknown tag is refused': [
      'a: !secret x\n',
      'line 1:4: a tag (!name) is not known; put quotes around a text that begins with !',
    ],
    'an alias of nothing is refused': [
      'a: *hunter2\n',
      'line 1:4: an alias (*name) has no anchor (&name) before it; put quotes around a text that begins with *',
    ],
  }
  for (const [name, [text, expected]] of Object.entries(faults)) {
    test(name, () => assert.deepEqual(errorsOf(text), [expected]))
  }

  test('aliases that unfold without end are refused', () => {
    const bomb = ['a0: &a0 [x, x]', ...Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`)]
    assert.match(errorsOf(bomb.join('\n')).join(), /refer to too much data/)
  })

  test('an anchor can be used again', () => {
    const job = parse(minimalJob.replace("include: ['*']", "include: &names ['a*']\n    exclude: *names"))
    assert.deepEqual(job.source.topics, { include: ['a*'], exclude: ['a*'] })
  })

  test('a file with nothing in it, or with something else than a map, is refused as a whole', () => {
    assert.match(errorsOf('# nothing\n').join(), /^the job file: is empty; allowed: a map of mode, backup_id/)
    assert.match(errorsOf('- a\n').join(), /^the job file: is a list; allowed: a map of mode, backup_id/)
    assert.match(errorsOf('hello\n').join(), /^the job file: is a single value; /)
  })
})

describe('the report', () => {
  test('has all errors at once, from the top of the file to its end, each with its line', () => {
    const text = `mode: verify
backup_id: nightly
bakcup: {}
source:
  bootstrap_servers: [kafka-1]
  topics:
    inclde: ['*']
storage:
  backend: tape
  bucket: x
backup:
  compression: zst
`
    const error = errorOf(text)
    assert.equal(
      error.message,
      `job.yaml: 7 errors
  mode: "verify" is not known; allowed: backup, restore [line 1]
  bakcup: is not a known key; allowed: mode, backup_id, source, storage, backup, retention, monitoring, encryption, metrics, enterprise (did you mean \`backup\`?) [line 3]
  source.bootstrap_servers.0: "kafka-1" has no port; allowed: host:port, such as kafka-1:9092 or [::1]:9092 [line 5]
  source.topics.include: is required; allowed: at least one topic name or pattern with * and ? [line 6]
  source.topics.inclde: is not a known key; allowed: include, exclude (did you mean \`include\`?) [line 7]
  storage.backend: "tape" is not known; allowed: filesystem, s3, azure, gcs [line 9]
  backup.compression: "zst" is not known; allowed: auto, none, zstd (did you mean \`zstd\`?) [line 12]`,
    )
    assert.equal(error.exitCode, 2)
  })

  test('says of a map without a value that it has none', () => {
    assert.match(errorsOf(`${minimalJob}backup:\n`).join(), /^backup: has no value; fill it or remove the line; /)
  })

  test('finds a slip in the name of the field that gives the kind of a map', () => {
    assert.deepEqual(errorsOf(minimalJob.replace('backend:', 'bakend:')), [
      'storage.backend: is required; allowed: filesystem, s3, azure, gcs [line 7]',
      'storage.bakend: is not a known key; allowed: backend (did you mean `backend`?) [line 8]',
    ])
  })

  test('names the backends that have a key which this one lacks', () => {
    const keys = 'allowed: backend, path, prefix, file_mode'
    assert.deepEqual(errorsOf(`${minimalJob}  bucket: acme\n  region: eu\n`), [
      `storage.bucket: is a key of \`backend: s3\` or \`backend: gcs\` only; ${keys} [line 10]`,
      `storage.region: is a key of \`backend: s3\` only; ${keys} [line 11]`,
    ])
  })

  test('is not misled by a key that every object has', () => {
    const keys = ['__proto__', 'constructor', 'toString']
    for (const key of keys) assert.match(errorsOf(`${minimalJob}${key}: {a: 1}\n`).join(), /is not a known key/)
  })

  test('does not show a text that stands where a map belongs', () => {
    const [line = ''] = errorsOf(`${minimalJob}enterprise: hunter2\n`)
    assert.equal(line, 'enterprise: is a single value; allowed: a map of schema_registry [line 10]')
  })
})
