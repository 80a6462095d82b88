import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadJob } from '../../src/config/load-job.ts'
import { readChoice } from '../../src/console/restore-choice.ts'
import { formatJobFile, planTopics } from '../../src/console/restore-plan.ts'
import { topicOf } from '../archive/sample-archive.ts'

const topics = ['orders', 'orders-eu', 'payments', '_schemas'].map(name => topicOf(name, []))
const choose = (query: string) => readChoice(new URLSearchParams(query))
const plan = (query: string) => planTopics({ topics }, choose(query))

test('selects the topics that a restore would take', () => {
  const names = (query: string) => plan(query).topics.map(({ label }) => label)
  assert.deepEqual(names(''), ['orders', 'orders-eu', 'payments'])
  assert.deepEqual(names('include=orders*'), ['orders', 'orders-eu'])
  assert.deepEqual(names('include=*&exclude=orders*'), ['payments'])
  assert.deepEqual(names('include=_schemas'), ['_schemas'])
})

test('selects incarnations as a restore does', () => {
  const older = { ...topicOf('orders', []), id: 'a'.repeat(32), state: 'replaced' as const }
  const all = [older, ...topics]
  const both = (query: string) => {
    const { topics: planned, problems } = planTopics({ topics: all }, choose(query))
    return [planned.map(({ label, target }) => `${label}=${target}`), problems]
  }
  const rest = ['orders-eu=orders-eu', 'payments=payments']
  assert.deepEqual(both('include=*+orders@aaaa'), [[...rest, 'orders@aaaaaaaa=orders'], []])
  assert.deepEqual(both('include=*+orders@aaaa&exclude=orders@aaaa'), [rest, []])
  assert.deepEqual(both('include=orders,orders@aaaa&rename=orders@aaaaaa%3Dold'), [
    ['orders=orders', 'orders@aaaaaaaa=old'],
    [],
  ])
  assert.match(String(both('include=orders&exclude=orders@bbbb')[1]), /no incarnation orders@bbbb/)
})

test('reports what is not possible', () => {
  assert.match(plan('include=nothing').problems.join(), /holds no topic nothing/)
  assert.match(
    plan('include=orders&rename=payments%3Dx').problems.join(),
    /payments gets another name but is not selected/,
  )
  assert.match(plan('rename=orders%3Dpayments').problems.join(), /orders and payments would both become payments/)
  assert.throws(() => choose('rename=orders'), { code: 'USAGE', message: /is not source=target/ })
  for (const time of ['soon', 'generation 12', '2026', '2026-02-30', '2026-1-31 08:00'])
    assert.throws(() => choose(`as-of=${time}`), { code: 'USAGE', message: /is not a time/ }, time)
  assert.equal(choose('as-of=2026-01-02 03:04').asOf, '2026-01-02T03:04:00.000Z')
})

test('other names for incarnations are found at once, though the backup has thousands of topics', () => {
  const many = Array.from({ length: 3000 }, (_, at) => topicOf(`topic-${at}`, [], { id: String(at).padStart(32, '0') }))
  const renames = Array.from({ length: 20 }, (_, at) => `topic-${at}@${String(at).padStart(32, '0')}=new-${at}`)
  const startMs = performance.now()
  const { topics: planned, problems } = planTopics({ topics: many }, choose(`rename=${renames.join()}`))
  assert.ok(performance.now() - startMs < 10_000, `${performance.now() - startMs} ms`)
  assert.deepEqual(problems, [])
  assert.deepEqual(
    [0, 19, 20].map(at => planned[at]?.target),
    ['new-0', 'new-19', 'topic-20'],
  )
})

test('takes as many names as an address has room for, but not as many patterns', () => {
  const list = (form: (at: number) => string) => Array.from({ length: 101 }, (_, at) => form(at)).join()
  assert.equal(choose(`include=${list(at => `topic-${at}`)}`).include.length, 101)
  for (const query of [
    `include=${list(at => `${at}*`)}`,
    `exclude=${list(at => `t@${at}`)}`,
    `rename=${list(at => `*${at}=x`)}`,
  ])
    assert.throws(() => choose(query), { code: 'USAGE', message: /101 patterns and incarnations are more than/ })
})

/** Every kind of location, with the storage that the job file must have. */
const locations: readonly (readonly [string, object])[] = [
  ['/backups', { backend: 'filesystem', path: '/backups' }],
  [
    's3://bucket/prod/eu?region=eu-central-1',
    { backend: 's3', bucket: 'bucket', prefix: 'prod/eu', region: 'eu-central-1' },
  ],
  [
    's3://bucket?endpoint=https://s3.example.com&path_style=false&ca_cert=/etc/ca+1.pem',
    { endpoint: 'https://s3.example.com', pathStyle: false, caCert: '/etc/ca+1.pem' },
  ],
  ['gs://bucket', { backend: 'gcs', bucket: 'bucket' }],
  ['az://container/prod?account=acme', { backend: 'azure', container: 'container', prefix: 'prod', account: 'acme' }],
]

test('writes a job file that the program accepts, for every kind of location', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'restore-plan-'))
  const choice = choose(
    'include=orders&rename=orders%3Dback&servers=a:9092,b:9092&as-of=2026-01-02&start=2026-01-01T00:00:00Z&end=2026-01-02T00:00:00%2B02:00',
  )
  try {
    for (const [location, storage] of locations) {
      const file = join(folder, 'job.yaml')
      writeFileSync(file, formatJobFile('shop', location, choice))
      const job = await loadJob(file, { env: {}, set: [], mode: 'restore' })
      for (const [name, value] of Object.entries(storage)) {
        assert.equal((job.storage as unknown as Record<string, unknown>)[name], value, `${location} ${name}`)
      }
      assert.equal(job.backupId, 'shop')
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
