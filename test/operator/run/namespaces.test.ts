import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobKind } from '../../../src/operator/job/kube-job.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import { createPlanner } from '../../../src/operator/run/planner.ts'
import { kinds, namespace, OperatorModel, type StartOptions } from './operator-model.ts'

const denied = new KubeError('KUBE_DENIED', 'pods is forbidden in namespace "locked"', { status: 403 })

/** An operator of two namespaces, one of which may not be read for a while. */
function startWithLocked(model: OperatorModel, isLocked: () => boolean) {
  const around: StartOptions['around'] = (verb, act, _, { kind, ref }) => {
    if (isLocked() && verb === 'list' && kind === 'Pod' && ref.namespace === 'locked') throw denied
    return act()
  }
  model.put('backup', 'orders')
  const { apiVersion, kind } = kinds.backup
  const metadata = { name: 'hidden', namespace: 'locked' }
  model.kube.put(kinds.backup, { apiVersion, kind, metadata, spec: {} } as never)
  return model.start({ namespaces: ['shop', 'locked'], around })
}

test('serves the other namespaces if one cannot be read', async () => {
  const model = new OperatorModel()
  let isLocked = true
  const operator = startWithLocked(model, () => isLocked)
  await model.time.pass(10_000)
  assert.deepEqual(
    model.jobs.map(({ metadata }) => metadata.namespace),
    ['shop'],
  )
  const reason = 'pods is forbidden in namespace "locked"'
  const degraded = [{ watch: 'pods in namespace "locked"', reason }]
  assert.deepEqual(operator.health.ready(), { isOk: true, body: { status: 'ok', leader: true, degraded } })
  assert.deepEqual(
    model.told.filter(line => line.startsWith('readable')),
    ['readable shop false', 'readable locked false', 'readable shop true'],
  )
  assert.ok(model.log.some(({ level, message }) => level === 'warn' && message === reason))
  isLocked = false
  await model.time.pass(60_000)
  assert.deepEqual(
    model.jobs.map(({ metadata }) => metadata.namespace).toSorted(),
    ['locked', 'shop'],
    'it is served as soon as it can be read',
  )
  assert.deepEqual(operator.health.ready().body, { status: 'ok', leader: true })
  assert.equal(model.told.filter(line => line.startsWith('readable')).at(-1), 'readable locked true')
  await operator.stop()
})

test('an operator that can read none of its namespaces is not ready and does not lead', async () => {
  const model = new OperatorModel()
  model.put('backup', 'orders')
  const operator = model.start({
    namespaces: ['shop', 'locked'],
    around: (verb, act, _, { kind }) => {
      if (verb === 'list' && kind === 'Job') throw denied
      return act()
    },
  })
  await model.time.pass(10 * 60_000)
  assert.deepEqual([operator.health.ready().isOk, operator.health.isLeader, model.jobs], [false, false, []])
  await operator.stop()
})

const terminating = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces' }

test('a resource with deletionPolicy Delete does not block the deletion of its namespace', async () => {
  for (const how of ['asked', 'refused'] as const) {
    const model = new OperatorModel()
    const operator = model.start({
      planner: createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' }),
      around: (verb, act, _, { kind }) => {
        const isGoing = model.kube.all(terminating).length > 0
        if (isGoing && kind === 'Namespace' && how === 'refused') throw new KubeError('KUBE_DENIED', 'no right')
        if (isGoing && verb === 'create' && kind !== 'Lease') {
          const causes = [{ reason: 'NamespaceTerminating', message: 'namespace shop is being terminated', field: '' }]
          throw new KubeError('KUBE_DENIED', 'it is being terminated', { status: 403, causes })
        }
        return act()
      },
    })
    model.put('backup', 'orders', { ...plainSpec, deletionPolicy: 'Delete' })
    await model.time.pass(1000)
    const [job] = model.jobs
    assert.ok(job)
    model.kube.put(terminating, {
      ...terminating,
      metadata: { name: namespace, deletionTimestamp: '2026-01-02T03:04:05Z', finalizers: ['kubernetes'] },
    })
    model.kube.remove(jobKind, job.metadata)
    model.kube.remove(kinds.backup, { namespace, name: 'orders' })
    await model.time.pass(3 * 60_000)
    assert.deepEqual(model.kube.all(kinds.backup), [], how)
    const told = model.log.find(({ message }) => message.includes('Its data stays in the storage'))
    assert.equal(told?.level, 'warn')
    assert.match(told?.message ?? '', /kafka-backup delete --path s3:\/\/backups --backup-id orders/)
    await operator.stop()
  }
})

const plainSpec = {
  kafkaCluster: { bootstrapServers: ['kafka:9092'] },
  topics: { include: ['*'] },
  storage: { backend: 's3', bucket: 'backups', region: 'eu-central-1' },
}
