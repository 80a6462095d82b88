import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { main } from '../../src/cli/main.ts'
import { planRestore } from '../../src/restore/plan.ts'
import { plainOptions } from '../restore/plain-options.ts'
import { manifestOf, sampleTopic } from '../restore/samples.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

const { topics } = planRestore(manifestOf([sampleTopic('orders', 2), sampleTopic('Audit', 1)]), plainOptions({}))

function run(...argv: string[]) {
  return runWith(topics, ...argv)
}

async function runWith(planned: typeof topics, ...argv: string[]) {
  const actions = fakeActions({ planTopicsJob: async () => planned })
  const io = new FakeIo()
  const code = await main(['topics', ...argv], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}

const ofJob = ['--config', 'restore.yaml', '--strimzi-cluster', 'prod']

describe('topics', () => {
  test('prints a stream of documents that kubectl accepts', async () => {
    const { code, out } = await run(...ofJob, '-n', 'kafka')
    assert.equal(code, 0)
    assert.equal(
      out,
      `---
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata:
  name: orders
  namespace: kafka
  labels:
    strimzi.io/cluster: prod
spec:
  partitions: 2
  replicas: 1
  config: {}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata:
  name: audit-bb6aea2873
  namespace: kafka
  labels:
    strimzi.io/cluster: prod
spec:
  topicName: Audit
  partitions: 1
  replicas: 1
  config: {}
`,
    )
  })

  test('omits the namespace by default', async () => {
    const { out } = await run(...ofJob)
    assert.doesNotMatch(out, /namespace/)
  })

  test('quotes names that YAML 1.1 of kubectl would not read as text', async () => {
    const names = ['on', '1_000', '2026-01-31', '0b1', 'NO']
    const { topics } = planRestore(manifestOf(names.map(name => sampleTopic(name, 1))), plainOptions({}))
    const { out } = await runWith(topics, '--config', 'restore.yaml', '--strimzi-cluster', 'off')
    const read = parseAllDocuments(out, { version: '1.1' }).map(document => document.toJS())
    assert.deepEqual(
      read.map(({ metadata, spec }) => spec.topicName ?? metadata.name),
      names,
    )
    assert.ok(read.every(({ metadata }) => metadata.labels['strimzi.io/cluster'] === 'off'))
  })

  test('prints a JSON list in the requested API version', async () => {
    const { out } = await run(...ofJob, '--format', 'json', '--strimzi-api', 'kafka.strimzi.io/v1beta2')
    const { kind, items } = JSON.parse(out)
    assert.equal(kind, 'List')
    assert.deepEqual(
      items.map((item: { apiVersion: string; kind: string }) => [item.apiVersion, item.kind]),
      [
        ['kafka.strimzi.io/v1beta2', 'KafkaTopic'],
        ['kafka.strimzi.io/v1beta2', 'KafkaTopic'],
      ],
    )
  })

  test('needs only a location and a backup, and no cluster', async () => {
    const { code, calls } = await run('--path', '/backups', '--backup-id', 'orders', '--strimzi-cluster', 'prod')
    assert.equal(code, 0)
    assert.partialDeepStrictEqual(calls.plainRestoreJob?.[0], { path: '/backups', backupId: 'orders' })
  })

  test('names the missing option', async () => {
    assert.match((await run('--strimzi-cluster', 'prod')).err, /--config, or --path and --backup-id/)
    assert.match((await run(...ofJob, '--path', '/b')).err, /either --config, or --path and --backup-id/)
    assert.match((await run('--config', 'restore.yaml')).err, /strimzi-cluster/)
    assert.equal((await run('--config', 'restore.yaml')).code, 2)
  })
})
