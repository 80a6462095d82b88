import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { type BenchPart, type BenchResult, formatTable, MISSED, pageOf } from '../bench/report.ts'
import { isMissed } from '../bench/row.ts'
import { cliReference, detailReference, errorReference, lossReference } from '../docs/cli-reference.ts'
import { configTables } from '../docs/config-table.ts'
import { jobJsonSchema } from '../docs/job-json-schema.ts'
import { jobMetricsTable, progressFieldsTable } from '../docs/metrics-table.ts'
import { operatorTables } from '../docs/operator-tables.ts'
import { requestReference } from '../docs/request-table.ts'
import { accessFileSchema } from '../src/archive/access-section.ts'
import { drillRecordSchema } from '../src/archive/drill-record.ts'
import { groupsFileSchema } from '../src/archive/groups-section.ts'
import { holdSchema } from '../src/archive/holds.ts'
import { leaseSchema } from '../src/archive/lease.ts'
import { manifestSchema, partitionIndexSchema } from '../src/archive/manifest.ts'
import {
  globalConfigSchema,
  registryCopiesSchema,
  registrySettingsSchema,
  subjectMetadataSchema,
} from '../src/archive/registry-section.ts'
import { shardSchema } from '../src/archive/shard.ts'
import { verificationSchema } from '../src/archive/verification.ts'
import { formatResult } from '../src/cli/result/format-result.ts'
import { ResultBuilder } from '../src/cli/result/result-builder.ts'
import { parseClusterlessJob, parseJob } from '../src/config/load-job.ts'
import { keysFileSchema } from '../src/encryption/keys-file.ts'
import { faults, newRestoreFaults, restoreFaults } from './faults/catalog.ts'
import { brokenPromises, type FaultResult } from './faults/fault.ts'
import { formatFaults, formatFigures } from './faults/report.ts'
import { formatResults, readResults } from './fuzz/report.ts'
import { marked, tableRows } from './markdown.ts'
import { defaultApicurioVersion } from './servers/apicurio-dist.ts'
import { azuriteVersion } from './servers/azurite-package.ts'
import { fakeGcsVersion } from './servers/fake-gcs-binary.ts'
import { grafanaSchemaVersion } from './servers/grafana-schema.ts'
import {
  defaultKafkaVersion,
  newestKafkaVersion,
  olderKafkaVersion,
  oldestKafkaVersion,
  oldestKraftVersion,
  zooKeeperKafkaVersion,
} from './servers/kafka-dist.ts'
import { kubeVersion } from './servers/kube-binaries.ts'
import { prometheusVersion } from './servers/prometheus-binary.ts'
import { versitygwVersion } from './servers/versitygw-binary.ts'

const root = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', ...markdownBelow('docs')]

for (const [name, table] of Object.entries(configTables())) {
  test(`docs/configuration.md has the table of the schema: ${name}`, () => {
    assert.equal(marked(read('docs/configuration.md'), `config-${name}`), table)
  })
}

test('docs/job.schema.json is the schema of the validator', () => {
  assert.deepEqual(JSON.parse(read('docs/job.schema.json')), JSON.parse(JSON.stringify(jobJsonSchema())))
})

test('docs/cli.md has the commands and options of the program', () => {
  assert.equal(marked(read('docs/cli.md'), 'cli'), cliReference().trim())
})

test('docs/errors.md has the table of errors', () => {
  assert.equal(marked(read('docs/errors.md'), 'errors'), errorReference().trim())
  assert.equal(marked(read('docs/errors.md'), 'error-details'), detailReference().trim())
})

test('docs/schemas.md has the kinds of loss', () => {
  assert.equal(marked(read('docs/schemas.md'), 'losses'), lossReference().trim())
})

test('docs/kafka-versions.md has the table of requests', () => {
  assert.equal(marked(read('docs/kafka-versions.md'), 'requests'), requestReference())
})

test('docs/metrics.md has the metrics of the code', () => {
  assert.equal(marked(read('docs/metrics.md'), 'job-metrics'), jobMetricsTable().trim())
})

test('docs/metrics.md has the fields of /progress', () => {
  assert.equal(marked(read('docs/metrics.md'), 'progress-fields'), progressFieldsTable().trim())
})

for (const [name, table] of Object.entries(operatorTables())) {
  test(`docs/operator.md has the fields of the definitions: ${name}`, () => {
    assert.equal(marked(read('docs/operator.md'), `operator-${name}`), table)
  })
}

test('each promise of docs/security-model.md names a test that exists', () => {
  const named = [...read('docs/security-model.md').matchAll(/`(test\/[^`]+)` › ("[^"]+"(?:,\s+"[^"]+")*)/g)]
  const missing = named.flatMap(([, file = '', names = '']) => {
    const source = existsSync(join(root, file)) ? read(file) : ''
    return [...names.matchAll(/"([^"]+)"/g)].flatMap(([, name = '']) =>
      source.includes(name) ? [] : [`${file} › ${name}`],
    )
  })
  assert.deepEqual(missing, [])
  assert.ok(named.length > 40, `${named.length} tests`)
})

test('each row of a table of promises in docs/security-model.md names its test', () => {
  const tables = read('docs/security-model.md')
    .split(/\n\n/)
    .filter(block => /^\|.*\| Test \|\n/.test(block))
  assert.equal(tables.length, 9)
  const bare = tables.flatMap(table => table.split('\n').slice(2)).filter(row => !/` › "/.test(row))
  assert.deepEqual(bare, [])
})

test('docs/result-file.md names every field of a result, in their order', () => {
  const result = new ResultBuilder('backup', 0).resultOf({ exit: 0, nowMs: 0 })
  const documented = tableRows(read('docs/result-file.md'), 'result-fields').map(([field]) => field)
  assert.deepEqual(documented, Object.keys(JSON.parse(formatResult(result))))
})

test('docs/benchmarks.md has the figures of bench/results.json, and marks those that miss their limit', () => {
  const results: Record<BenchPart, BenchResult> = JSON.parse(read('bench/results.json'))
  assert.ok(results.backup && results.restore)
  for (const [part, result] of Object.entries(results)) {
    const table = marked(read(pageOf(part)), `bench-${part}`)
    assert.equal(table, formatTable(result).trim())
    assert.equal(table.split(MISSED).length - 1, result.rows.filter(isMissed).length)
  }
})

test('docs/reliability.md has the faults of the catalog', () => {
  assert.equal(
    marked(read('docs/reliability.md'), 'faults'),
    formatFaults([...faults, ...restoreFaults, ...newRestoreFaults]).trim(),
  )
})

test('docs/reliability.md has the figures of the last long round of fuzzing, which found nothing', () => {
  const results = readResults()
  assert.equal(marked(read('docs/reliability.md'), 'fuzz'), formatResults(results).trim())
  assert.deepEqual(
    results.readers.filter(({ faults: found }) => found > 0),
    [],
  )
})

test('docs/reliability.md has the figures of test/faults/results.json, and no promise was broken', () => {
  const figures = JSON.parse(read('test/faults/results.json'))
  assert.equal(marked(read('docs/reliability.md'), 'soak'), formatFigures(figures).trim())
  const results: FaultResult[] = [...figures.backup.results, ...figures.restore.results]
  assert.deepEqual(results.flatMap(brokenPromises), [])
  const measured = results.map(({ name }) => name)
  assert.deepEqual(
    [...faults, ...restoreFaults].filter(({ name }) => !measured.includes(name)),
    [],
    'faults without a figure: run make soak',
  )
})

for (const [name, schema, marker] of [
  ['manifest', manifestSchema, 'manifest-fields'],
  ['index', partitionIndexSchema, 'index-fields'],
  ['settings of a registry', registrySettingsSchema, 'registry-settings-fields'],
  ['global configuration of a registry', globalConfigSchema, 'registry-global-fields'],
  ['access rules', accessFileSchema, 'access-fields'],
  ['positions of groups', groupsFileSchema, 'groups-fields'],
  ['metadata of a subject', subjectMetadataSchema, 'registry-metadata-fields'],
  ['current files of a registry', registryCopiesSchema, 'registry-copies-fields'],
] as const) {
  test(`docs/format.md names every field of the ${name}`, () => {
    const documented = tableRows(read('docs/format.md'), marker).map(([field]) => field)
    assert.deepEqual(documented.sort(), fieldsOf(schema).sort())
  })
}

test('docs/format.md names every field of a keys file', () => {
  const documented = tableRows(read('docs/format.md'), 'keys-fields').map(([field]) => field)
  assert.deepEqual(documented, Object.keys(keysFileSchema.shape))
})

test('docs/format.md names every field of a shard', () => {
  const documented = tableRows(read('docs/format.md'), 'shard-fields').map(([field]) => field)
  assert.deepEqual(documented, Object.keys(shardSchema.shape))
})

test('docs/format.md names every field of a lease and of a hold', () => {
  const documented = (table: string) => tableRows(read('docs/format.md'), table).map(([field]) => field)
  assert.deepEqual(documented('lease-fields'), Object.keys(leaseSchema.shape))
  assert.deepEqual(documented('hold-fields'), Object.keys(holdSchema.shape))
  assert.deepEqual(documented('verification-fields'), Object.keys(verificationSchema.shape))
  assert.deepEqual(documented('drill-fields'), Object.keys(drillRecordSchema.shape))
})

test('every job file shown in the docs is valid', () => {
  const jobs = pages.flatMap(page =>
    [...read(page).matchAll(/```yaml\n([\s\S]*?)```/g)]
      .map(([, text]) => ({ page, text: text ?? '' }))
      .filter(({ text }) => /^mode: /m.test(text)),
  )
  assert.ok(jobs.length > 0)
  for (const { page, text } of jobs) {
    const env = Object.fromEntries([...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => [name ?? '', 'value']))
    const parse = page === 'docs/schemas.md' ? parseClusterlessJob : parseJob
    assert.doesNotThrow(() => parse(text, { source: page, env }), page)
  }
})

test('every example of docs/security.md is the security of a valid job', () => {
  const examples = [...read('docs/security.md').matchAll(/```yaml\nsource:\n([\s\S]*?)```/g)].map(
    ([, text]) => text ?? '',
  )
  assert.ok(examples.length >= 4)
  for (const text of examples) {
    const env = Object.fromEntries([...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => [name ?? '', 'value']))
    const servers = text.includes('bootstrap_servers') ? '' : '  bootstrap_servers: [k:9093]\n'
    const rest = "  topics: {include: ['*']}\nstorage: {backend: filesystem, path: /b}\n"
    const job = `mode: backup\nbackup_id: b\nsource:\n${servers}${text}${rest}`
    assert.doesNotThrow(() => parseJob(job, { source: 'docs/security.md', env }), text)
  }
})

test('docs/restore.md has every option of a restore, each with a valid example', () => {
  const examples = [...read('docs/restore.md').matchAll(/^\| `(\w+)` \| `(\w+: .+?)` \|/gm)]
  const options = [...configTables().restore.matchAll(/^\| `restore\.(\w+)/gm)].map(([, name]) => name ?? '')
  assert.deepEqual(examples.map(([, name]) => name ?? '').toSorted(), [...new Set(options)].toSorted())
  const job =
    'mode: restore\nbackup_id: b\ntarget: {bootstrap_servers: [k:9092]}\nstorage: {backend: filesystem, path: /b}\n'
  for (const [, name, example = ''] of examples) {
    assert.ok(example.startsWith(`${name}: `), example)
    assert.doesNotThrow(() => parseJob(`${job}restore: {${example}}`, { source: 'docs/restore.md', env: {} }), example)
  }
})

test('files named in the docs exist', () => {
  const dead = pages.flatMap(page =>
    [...read(page).matchAll(/`((?:src|test|bench|demo|docs)\/[\w./-]+\.(?:ts|md|json))`/g)]
      .map(([, path]) => path ?? '')
      .filter(path => !existsSync(join(root, path)))
      .map(path => `${page} names ${path}`),
  )
  assert.deepEqual(dead, [])
})

test('files that docs/architecture.md names by their last part exist', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).map(name => `/${name}`)
  const named = [...read('docs/architecture.md').matchAll(/`((?:[\w-]+\/)*[\w-]+\.ts)`/g)].map(([, path]) => path ?? '')
  const dead = named.filter(
    path => !path.startsWith('test/') && !files.some(file => `/src${file}`.endsWith(`/${path}`)),
  )
  assert.deepEqual(dead, [])
  assert.ok(named.length > 50, `${named.length} files`)
})

function markdownBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join(folder, name))
}

/** The paths of all fields, as `topics[].partitions[].start_offset`. */
function fieldsOf(schema: unknown, path = ''): string[] {
  const { def } = (schema as { _zod: { def: Definition } })._zod as { def: Definition }
  switch (def.type) {
    case 'object':
      return Object.entries(def.shape ?? {}).flatMap(([name, inner]) => {
        const field = path === '' ? name : `${path}.${name}`
        return [field, ...fieldsOf(inner, field)]
      })
    case 'array':
      return fieldsOf(def.element, `${path}[]`)
    case 'nullable':
    case 'optional':
      return fieldsOf(def.innerType, path)
    default:
      return []
  }
}

interface Definition {
  type: string
  shape?: Record<string, unknown>
  element?: unknown
  innerType?: unknown
}

test('docs/tested-servers.md names the versions of the servers that the tests run', () => {
  const proven = read('docs/tested-servers.md')
  const versions = {
    Kafka: [
      defaultKafkaVersion,
      newestKafkaVersion,
      olderKafkaVersion,
      oldestKraftVersion,
      zooKeeperKafkaVersion,
      oldestKafkaVersion,
    ],
    versitygw: [versitygwVersion],
    Azurite: [azuriteVersion],
    'fake-gcs-server': [fakeGcsVersion],
    Apicurio: [defaultApicurioVersion],
    Kubernetes: [kubeVersion],
    Prometheus: [prometheusVersion],
    Grafana: [grafanaSchemaVersion],
  }
  for (const [server, named] of Object.entries(versions)) {
    const row = proven.split('\n').find(line => line.includes(`${server} ${named[0]}`)) ?? assert.fail(server)
    for (const version of named) assert.ok(row.includes(version), `${server} ${version}`)
  }
})
