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

test('reports what is not possible', () => {
  assert.match(plan('include=nothing').problems.join(), /holds no topic nothing/)
  assert.match(
    plan('include=orders&rename=payments%3Dx').problems.join(),
    /payments gets another name but is not selected/,
  )
  assert.match(plan('rename=orders%3Dpayments').problems.join(), /orders and payments would both become payments/)
  assert.throws(() => choose('rename=orders'), { code: 'USAGE', message: /is not source=target/ })
  assert.throws(() => choose('as-of=soon'), { code: 'USAGE', message: /is not a time/ })
})

/** Every kind of location, with the storage that the job file must have. */
const locations: readonly (readonly [string, object])[] = [
  ['/backups', { backend: 'filesystem', path: '/backups' }],
  [
    's3://bucket/prod/eu?region=eu-central-1',
    { backend: 's3', bucket: 'bucket', prefix: 'prod/eu', region: 'eu-central-1' },
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
