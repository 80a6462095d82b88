import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { ResourceSpec } from '../../src/operator/crd/resource.ts'
import type { ResourceStatus } from '../../src/operator/crd/status.ts'
import { fullDescribe, fullTest } from '../full.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { chartName, renderChart } from '../servers/chart.ts'
import { restrictedPod } from '../servers/node/pods.ts'
import { productImage } from '../servers/node/product-image.ts'
import { runCommand } from '../servers/run-command.ts'
import { waitFor } from '../servers/use-kube.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'
import { addNodeFailureCases } from './node-failure-cases.ts'
import { addNodeImageCases } from './node-image-cases.ts'
import { installOperator, type NodeWorld, openNodeWorld, operatorPods, operatorValues } from './node-world.ts'
import { fillOneOfEach, openRegistry, stockRegistry, type WatchedRegistry, type WorldTopic } from './schema-world.ts'
import { useKafka } from './use-kafka.ts'

const MESSAGES = 100
const BULK = 5000
const isolation = 'read_committed'
const root = resolve(import.meta.dirname, '../..')

describe('on a real Kubernetes node', () => {
  const kafka = useKafka()
  const world = {} as NodeWorld
  let s3: S3Server
  let source: WatchedRegistry
  let target: WatchedRegistry
  let topics: WorldTopic[]

  before(async () => {
    Object.assign(world, await openNodeWorld())
    s3 = await startS3()
    await s3.makeBucket('backups')
    source = await openRegistry()
    target = await openRegistry({ firstId: 1001 })
    topics = await fillOneOfEach(source.server.url, MESSAGES)
    for (const { name, compression, partitions, messages } of topics) {
      const records = messages.map(({ record }) => record)
      await kafka.driver.createTopic(name, { partitions, configs: { 'retention.ms': '-1' } })
      await kafka.driver.produce(name, records, { compression, lingerMs: 20 })
    }
    await kafka.driver.createTopic('bulk', { partitions: 3, configs: { 'retention.ms': '-1' } })
    await kafka.driver.seedBulk('bulk', { count: BULK, partitions: 3, valueBytes: 500 })
    await world.secret('s3-login', { id: s3.credentials.accessKeyId, key: s3.credentials.secretAccessKey })
  })
  after(async () => {
    await world.node?.stop()
    await source?.[Symbol.asyncDispose]()
    await target?.[Symbol.asyncDispose]()
    await s3?.stop()
  })

  const storage = () => ({
    backend: 's3',
    bucket: 'backups',
    endpoint: s3.endpoint,
    accessKeyIdSecret: { name: 's3-login', key: 'id' },
    secretAccessKeySecret: { name: 's3-login', key: 'key' },
  })
  const kafkaCluster = () => ({ bootstrapServers: kafka.server.bootstrapServers })

  test('the image loads its native modules with the seccomp profile, a read-only root and no rights', async () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object }
    const script = `
      import { createRequire } from 'node:module'
      import { readFileSync, writeFileSync } from 'node:fs'
      const { resolve } = createRequire('/app/bin/kafka-backup.js')
      for (const name of ${JSON.stringify(Object.keys(dependencies))}) await import(resolve(name))
      const denied = ['/x', '/app/x', '/tmp/x'].map(path => { try { writeFileSync(path, '') } catch (error) { return error.code } })
      const status = Object.fromEntries(readFileSync('/proc/self/status', 'utf8').split('\\n').map(line => line.split(':\\t')))
      const { Seccomp, NoNewPrivs, CapEff, Uid } = status
      console.log(JSON.stringify({ denied, Seccomp, NoNewPrivs, CapEff, Uid }))`
    const command = ['/usr/local/bin/node', '--input-type=module', '--eval', script]
    const log = await world.runPod('modules', restrictedPod({ command }))
    assert.match(log, /^\{/, log)
    assert.deepEqual(JSON.parse(log), {
      denied: ['EROFS', 'EROFS', 'EROFS'],
      Seccomp: '2',
      NoNewPrivs: '1',
      CapEff: '0000000000000000',
      Uid: '65532\t65532\t65532\t65532',
    })
  })

  test('helm installs the chart, and both replicas of the operator respond at its ports', async () => {
    await installOperator(world)
    const addresses = (await operatorPods(world)).map(({ status }) => status?.podIP)
    assert.equal(addresses.length, 2)
    for (const address of addresses) {
      const ask = (port: number, path: string) => fetch(`http://${address}:${port}${path}`)
      for (const path of ['/readyz', '/healthz']) assert.equal((await ask(8081, path)).status, 200)
      const page = await (await ask(8080, '/metrics')).text()
      assert.match(page, /^# TYPE kafka_backup_operator_reconciliations_total counter$/m)
    }
  })

  fullTest('the pod of helm test succeeds with a ready operator, and fails with the reason without one', async () => {
    const pod = (await renderChart(operatorValues, { namespace: world.namespace })).find(
      ({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'test',
    )
    const spec = pod?.spec as { containers: { args: string[]; env: { name: string; value: string }[] }[] }
    const [container] = spec.containers
    assert.deepEqual(container?.env, [
      { name: 'METRICS_URL', value: `http://${chartName}.${world.namespace}.svc:8080/metrics` },
    ])
    // Without cluster DNS and kube-proxy a pod cannot use the Service.
    const [address] = (await operatorPods(world)).map(({ status }) => status?.podIP)
    const containers = [{ ...container, env: [{ name: 'METRICS_URL', value: `http://${address}:8080/metrics` }] }]
    assert.match(await world.runPod('helm-test', { ...spec, containers }), /^operator \S+ is ready and serves/)
    const fail = async (url: string) => {
      const env = { METRICS_URL: url, TIMEOUT_MS: '0' }
      const { exitCode, stderr } = await runCommand(process.execPath, ['--eval', container.args[0] ?? ''], { env })
      assert.equal(exitCode, 1)
      return stderr
    }
    assert.match(await fail(`http://${address}:2/metrics`), /ECONNREFUSED.*Is a replica ready/)
    assert.match(await fail(`http://${address}:8080/`), /status 404/)
  })

  test('the second replica leads when the pod of the first is deleted', async () => {
    const { api } = world.node.kube
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: world.namespace, name: chartName }
    const holder = async () => ((await api.get(lease)).spec as { holderIdentity?: string }).holderIdentity ?? ''
    await waitFor('a leader', async () => (await holder()) !== '')
    const first = await holder()
    const [name = ''] = first.split('_')
    await api.delete({ apiVersion: 'v1', kind: 'Pod', namespace: world.namespace, name })
    await waitFor('another leader', async () => !['', first].includes(await holder()))
  })

  let backup: ResourceStatus

  test('a KafkaBackup with a schema registry completes', async () => {
    const ref = await world.create('backup', 'orders', {
      kafkaCluster: kafkaCluster(),
      topics: { include: [...topics.map(({ name }) => name), 'bulk'] },
      storage: storage(),
      enterprise: { schemaRegistry: { enabled: true, url: source.server.url } },
    })
    backup = await world.untilEnd(ref)
    assert.deepEqual([backup.phase, backup.records, backup.gaps], ['Completed', BULK + 3 * MESSAGES, 0], backup.message)
    const [pod] = await world.pods(ref)
    assert.equal(pod?.spec.containers[0]?.image, productImage)
    assert.equal(pod.spec.serviceAccountName, `${chartName}-jobs`)
  })

  test('a KafkaRestore restores it under other names, with the IDs of another registry', async () => {
    const topicMapping = Object.fromEntries(
      [...topics.map(({ name }) => name), 'bulk'].map(name => [name, `${name}-2`]),
    )
    const ref = await world.create('restore', 'orders-back', {
      kafkaCluster: kafkaCluster(),
      backupId: 'orders',
      storage: storage(),
      restore: { topicMapping },
      enterprise: {
        schemaRegistry: {
          enabled: true,
          url: target.server.url,
          restore: { rewriteTopics: { include: topics.map(({ name }) => name) } },
        },
      },
    })
    const status = await world.untilEnd(ref)
    assert.deepEqual([status.phase, status.records], ['Completed', backup.records], status.message)
    assertSameRecords(
      await kafka.driver.consume('bulk', { isolation }),
      await kafka.driver.consume('bulk-2', { isolation }),
    )
    for (const topic of topics) await assertKeys(topic)
  })

  /** A stock deserializer with the other registry finds every key as it was. */
  async function assertKeys({ name, messages }: WorldTopic): Promise<void> {
    const stock = stockRegistry(target.server.url, '.')
    const found = await kafka.driver.consume(`${name}-2`, { isolation })
    for (const [partition, records] of found.entries()) {
      const keys = await Promise.all(records.map(async record => ({ ...(await stock.decode(record.key as Buffer)) })))
      const original = messages.filter(({ record }) => record.partition === partition).map(({ key }) => key)
      assert.deepEqual(keys, original)
    }
  }

  const bulkBackup = (more: Partial<ResourceSpec> = {}) => ({
    kafkaCluster: kafkaCluster(),
    topics: { include: ['bulk'] },
    storage: storage(),
    ...more,
  })

  fullDescribe('the image', () => addNodeImageCases(world))

  fullDescribe('failures of a node', () => addNodeFailureCases({ world, backup: bulkBackup, records: BULK }))

  test('a node that is stopped leaves nothing on the machine', async () => {
    await world.node.stop()
    assert.deepEqual(await world.node.findTraces(), [])
  })
})
