// biome-ignore-all lint/suspicious/noTemplateCurlyInString: `${VAR}` is what job files contain
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse as parseYaml } from 'yaml'
import { configTables } from '../../docs/config-table.ts'
import { jobJsonSchema } from '../../docs/job-json-schema.ts'
import { parseClusterlessJob, parseJob } from '../../src/config/load-job.ts'
import {
  azureFields,
  azureJob,
  errorsOf,
  gcsFields,
  gcsJob,
  minimalJob,
  minimalRestore,
  s3Fields,
  s3Job,
} from './job-texts.ts'

const editorAccepts = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true }).compile(jobJsonSchema())
const env = { KEY: 'k', SECRET: 's', X: '2', SIZE: '2MiB', KIND: 'basic', ON: 'false' }
const registry = (text: string) => `${minimalJob}enterprise: {schema_registry: {enabled: false, ${text}}}`
const backup = (text: string) => `${minimalJob}backup: {${text}}`
const restore = (text: string) => `${minimalRestore}restore: {${text}}`

const valid: Record<string, string> = {
  'the shortest job': minimalJob,
  'brokers as one text': minimalJob.replace('[kafka-1:9092]', 'a:1, b:2'),
  'an IPv6 broker': minimalJob.replace('kafka-1:9092', '"[::1]:9092"'),
  'a broker from a variable': minimalJob.replace('kafka-1:9092', '"${X}:9092"'),
  'a backup id from a variable': minimalJob.replace('nightly', 'nightly-${X}'),
  'a storage kind from a variable': minimalJob.replace('filesystem', '${FS:-filesystem}'),
  'a bucket': s3Job,
  'a bucket with all its fields': `${s3Job}${s3Fields}`,
  'a container': azureJob,
  'a container with all its fields': `${azureJob}${azureFields}  account_key: \${KEY}`,
  'a container by a SAS token': `${azureJob}  sas_token: 'sv=1&sig=x'`,
  'a bucket of Google Cloud': gcsJob,
  'a bucket of Google Cloud with all its fields': `${gcsJob}${gcsFields}`,
  'a mode from a variable': minimalJob.replace('mode: backup', 'mode: ${MODE:-backup}'),
  'a size in bytes': backup('segment_bytes: 1048576'),
  'a size with a unit': backup('segment_bytes: 1.5 gib'),
  'a size from a variable': backup("segment_bytes: '${SIZE}'"),
  'a number as text': backup("connections_per_broker: '3'"),
  'a number from a variable': backup("connections_per_broker: '${X}'"),
  'a duration': backup('commit_interval: 1.5m'),
  'a choice from a variable': backup("on_gap: '${GAP:-fail}'"),
  'a boolean from a variable': `${minimalJob}enterprise: {schema_registry: {enabled: '\${ON}'}}`,
  'an empty map of enterprise': `${minimalJob}enterprise: {}`,
  'subjects as one text': registry("backup: {subjects: '*'}"),
  'a kind of auth from a variable': registry("auth: {type: '${KIND}', username: u, password: p}"),
  'a registry that is enabled': `${minimalJob}enterprise: {schema_registry: {enabled: true, url: 'http://a, http://b'}}`,
  'addresses as a list': registry("url: ['http://a', 'http://b']"),
  'topics of contexts': registry('restore: {topic_contexts: {a*: .prod}, rewrite_parts: [key]}'),
  'a mapping of subjects': registry('restore: {subject_mapping: {a: b}}'),
  'the shortest restore': minimalRestore,
  'a restore by a variable': minimalRestore.replace('mode: restore', 'mode: ${MODE:-restore}'),
  'a login to the target': minimalRestore.replace('storage:', '  security: {protocol: SSL}\nstorage:'),
  'other names for topics': restore("topic_mapping: {a.b: c, d: '${KEY}'}"),
  'partitions of topics': restore("partitions: {a: [0, '1', '${X}']}"),
  'ranges of offsets': restore("offset_ranges: {a/0: {start: 0}, a/1: {start: '1', end: '${X}'}}"),
  'a window by ISO times': restore(
    "time_window_start: 2026-01-31T05:00Z, time_window_end: '2026-01-31 08:00:00.5+0130'",
  ),
  'a window by milliseconds': restore("time_window_start: 1769846400000, time_window_end: '1769846400001'"),
  'a time from a variable': restore("time_window_start: '${AT:-2026-01-31T08:00:00Z}'"),
  'numbers of partitions': restore("repartition: by_key, partition_count: {a: 3, b: '4'}"),
  'other partitions': restore("partition_mapping: {a: {0: 1, 1: '0'}}"),
  'settings as texts, numbers and booleans': restore("topic_config: {a: x, b: 1, c: 0.5, d: true, e: '${X}'}"),
  'policies of a restore': restore('existing_topics: append, retention: hold, offset_headers: true, verify: true'),
  'the run of a restore': restore('restore_id: x, rate_limit: 1MB, batch_bytes: 16KiB, commit_interval: 1s'),
}

const invalid: Record<string, string> = {
  'a list': '[]',
  'nothing below the top': 'mode: backup',
  'no mode': minimalJob.replace('mode: backup\n', ''),
  'an unknown mode': minimalJob.replace('mode: backup', 'mode: verify'),
  'a backup under the mode of a restore': minimalJob.replace('mode: backup', 'mode: restore'),
  'a restore under the mode of a backup': minimalRestore.replace('mode: restore', 'mode: backup'),
  'an unknown key': `${minimalJob}bakcup: {}`,
  'a map without a value': `${minimalJob}backup:`,
  'a number as backup id': minimalJob.replace('nightly', '2024'),
  'a backup id with a slash': minimalJob.replace('nightly', 'a/b'),
  'a broker without a port': minimalJob.replace('kafka-1:9092', 'kafka-1'),
  'no brokers': minimalJob.replace('[kafka-1:9092]', '[]'),
  'topics as one text': minimalJob.replace("['*']", "'*'"),
  'no topics': minimalJob.replace("['*']", '[]'),
  'another backend': minimalJob.replace('filesystem', 'tape'),
  'a bucket without a name': minimalJob.replace('filesystem', 's3'),
  'a bucket with a slash': s3Job.replace('my-bucket', 'a/b'),
  'a path of a bucket': `${s3Job}  path: /x`,
  'a container without a name': minimalJob.replace('filesystem', 'azure'),
  'a container with capitals': azureJob.replace('my-container', 'Mine'),
  'a bucket of Azure': `${azureJob}  bucket: x`,
  'parts that are too small': `${s3Job}  part_size: 1000`,
  'a field of S3 for Google Cloud': `${gcsJob}  sse: AES256`,
  'an encryption that S3 does not have': `${s3Job}  sse: rot13`,
  'storage as a text': minimalJob.replace(/storage:[\s\S]*/, 'storage: /backups'),
  'a prefix that leads out': `${minimalJob}  prefix: ../x`,
  'a size below its minimum': backup('segment_bytes: 1000'),
  'a size that is none': backup('segment_bytes: big'),
  'a duration without a unit': backup('commit_interval: 60'),
  'a number above its maximum': backup('connections_per_broker: 17'),
  'an unknown choice': backup('compression: zst'),
  'a registry that does not say whether it is enabled': `${minimalJob}enterprise: {schema_registry: {}}`,
  'basic without a password': registry('auth: {type: basic, username: u}'),
  'an unknown type of auth': registry('auth: {type: digest}'),
  'a field of another type of auth': registry('auth: {type: mtls, username: u}'),
  'a context without its dot': registry('restore: {topic_contexts: {a: prod}}'),
  'a part of messages that there is not': registry('restore: {rewrite_parts: [header]}'),
  'an unknown schema type': registry('schema_types: [XML]'),
  'a source of a restore': `${minimalRestore}source: {bootstrap_servers: [a:1], topics: {include: [a]}}`,
  'a target of a backup': `${minimalJob}target: {bootstrap_servers: [a:1]}`,
  'topics of a target': minimalRestore.replace('storage:', '  topics: {include: [a]}\nstorage:'),
  'a slip in a restore': restore('topic_mappings: {}'),
  'a pattern that gets another name': restore("topic_mapping: {'a*': b}"),
  'another name with a space': restore('topic_mapping: {a: b c}'),
  'a partition without a list': restore('partitions: {a: 0}'),
  'a list of no partitions': restore('partitions: {a: []}'),
  'a range without a partition': restore('offset_ranges: {a: {start: 1}}'),
  'a range of nothing': restore('offset_ranges: {a/0: {}}'),
  'a slip in a range': restore('offset_ranges: {a/0: {begin: 1}}'),
  'a time without a zone': restore('time_window_start: 2026-01-31T08:00:00'),
  'a day without a time': restore('time_window_start: 2026-01-31'),
  'a time in seconds': restore('time_window_start: 1769846400'),
  'a partition that is no number': restore('partition_mapping: {a: {x: 1}}'),
  'a setting that is a list': restore('topic_config: {a: [b]}'),
  'an empty setting': restore("topic_config: {a: ''}"),
  'batches that are too small': restore('batch_bytes: 1024'),
}

describe('the JSON Schema and the validator both', () => {
  for (const [name, text] of Object.entries(valid)) {
    test(`accept ${name}`, () => {
      parseJob(text, { source: 'job.yaml', env })
      assert.ok(editorAccepts(parseYaml(text)), JSON.stringify(editorAccepts.errors))
    })
  }
  for (const [name, text] of Object.entries({
    'a backup without a cluster': minimalJob.replace(/source:[\s\S]*(?=storage:)/, ''),
    'a restore without a cluster': minimalRestore.replace(/target:[\s\S]*(?=storage:)/, ''),
  })) {
    test(`accept ${name}, for commands that do not contact Kafka`, () => {
      assert.doesNotMatch(text, /bootstrap_servers/)
      parseClusterlessJob(text, { source: 'job.yaml', env })
      assert.throws(() => parseJob(text, { source: 'job.yaml', env }), /(source|target): is required/)
      assert.ok(editorAccepts(parseYaml(text)), JSON.stringify(editorAccepts.errors))
    })
  }
  for (const [name, text] of Object.entries(invalid)) {
    test(`refuse ${name}`, () => {
      assert.notDeepEqual(errorsOf(text, { env }), [])
      assert.equal(editorAccepts(parseYaml(text)), false)
    })
  }
})

describe('docs/', () => {
  const read = (name: string) => readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8')

  test('job.schema.json is what the code says (make docs writes it)', async () => {
    assert.deepEqual(JSON.parse(await read('job.schema.json')), jobJsonSchema())
  })

  const pathsOf = (table: string, part = '') =>
    table
      .split('\n')
      .slice(2)
      .filter(row => row.includes(part))
      .map(row => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, path = '']) => path))

  test('the tables mark the secrets', () => {
    const { both, backup, restore } = configTables()
    const auth = 'enterprise.schema_registry.auth'
    const ofClusters = ['tls.client_key_password', 'sasl.password', 'sasl.oauth.client_secret'].map(name => [
      `source.security.${name}`,
      `target.security.${name}`,
    ])
    const s3 = ['secret_access_key', 'session_token', 'proxy'].map(name => [`storage.${name}`])
    const azure = ['account_key', 'sas_token', 'client_secret'].map(name => [`storage.${name}`])
    const secrets = [...ofClusters, ...s3, ...azure, [`${auth}.password`], [`${auth}.client_secret`]]
    assert.deepEqual(pathsOf(both, 'A secret:'), secrets)
    assert.deepEqual(pathsOf(backup + restore, 'A secret:'), [['monitoring.webhooks.0.url']])
  })

  test('the tables have each field once, those of some kinds only included', () => {
    const paths = Object.values(configTables()).flatMap(table => pathsOf(table).flat())
    const auth = paths.filter(path => path.startsWith('enterprise.schema_registry.auth.')).map(path => path.slice(32))
    const tls = ['tls.ca_cert', 'tls.client_cert', 'tls.client_key']
    assert.deepEqual(auth, ['type', 'username', 'password', ...tls, 'token_url', 'client_id', 'client_secret', 'scope'])
    assert.equal(new Set(paths).size, paths.length)
  })

  test('a field stands in the table of its mode, or in that of both', () => {
    const { both, backup, restore } = configTables()
    const sections = (table: string) => [
      ...new Set(pathsOf(table).flatMap(names => names.map(name => name.split('.')[0]))),
    ]
    assert.deepEqual(sections(both), [
      'mode',
      'backup_id',
      'source',
      'target',
      'storage',
      'encryption',
      'metrics',
      'enterprise',
    ])
    assert.deepEqual(sections(backup), ['source', 'backup', 'retention', 'monitoring'])
    assert.deepEqual(pathsOf(backup, 'source.').flat(), [
      'source.client_rack',
      'source.topics.include',
      'source.topics.exclude',
      'backup.missing_topics',
    ])
    assert.deepEqual(sections(restore), ['restore'])
  })
})
