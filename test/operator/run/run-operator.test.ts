import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobKind } from '../../../src/operator/job/kube-job.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import { createPlanner } from '../../../src/operator/run/planner.ts'
import { isOfElection, isWrite, kinds, namespace, OperatorModel, putSecret } from './operator-model.ts'

test('a resource becomes a ConfigMap and a Job, and its status follows the Job to the end', async () => {
  const model = new OperatorModel()
  const operator = model.start()
  model.put('backup', 'orders')
  await model.time.pass(1000)
  const [job] = model.jobs
  assert.ok(job)
  assert.equal(model.configMaps.length, 1)
  assert.equal(model.get('orders').status?.phase, 'Pending')
  model.startPod(job)
  await model.time.pass(100)
  assert.equal(model.get('orders').status?.phase, 'Running')
  model.endJob(job)
  await model.time.pass(100)
  const { phase, history } = model.get('orders').status ?? {}
  assert.deepEqual([phase, history?.length], ['Completed', 1])
  assert.deepEqual([model.jobs, model.configMaps], [[], []])
  assert.deepEqual(
    model.told.filter(line => line.startsWith('ended')),
    ['ended orders once Completed'],
  )
  await operator.stop()
  assert.equal(model.time.pending, 0)
})

test('executes the steps in an order that survives a crash between them', async () => {
  const model = new OperatorModel()
  const operator = model.start()
  model.put('backup', 'orders')
  await model.time.pass(1000)
  model.endJob(model.jobs[0] as never)
  await model.time.pass(100)
  const writes = model.calls.filter(call => isWrite(call) && !isOfElection(call))
  assert.deepEqual(
    writes.map(({ verb, kind }) => `${verb} ${kind}`),
    [
      'create ConfigMap',
      'create Job',
      'applyStatus KafkaBackup',
      'apply Event',
      'applyStatus KafkaBackup',
      'applyStatus KafkaBackup',
      'remove ConfigMap',
      'remove Job',
      'apply Event',
    ],
  )
  await operator.stop()
})

test('waits for a missing secret, and reads only the metadata of existing ones', async () => {
  const model = new OperatorModel()
  const operator = model.start()
  model.put('backup', 'orders', { needs: ['login', 'key'] })
  putSecret(model, 'key')
  await model.time.pass(1000)
  const { phase, reason, message } = model.get('orders').status ?? {}
  assert.deepEqual([phase, reason, message], ['Pending', 'SecretMissing', 'login (spec.needs)'])
  assert.deepEqual(model.jobs, [])
  putSecret(model, 'login')
  await model.time.pass(15_000)
  assert.equal(model.jobs.length, 1)
  assert.ok(!model.calls.some(({ verb, kind }) => kind === 'Secret' && verb !== 'getMetadata'))
  await operator.stop()
})

test('reports an invalid spec and creates nothing; tries the next generation', async () => {
  const model = new OperatorModel()
  const operator = model.start()
  model.put('backup', 'orders', { mode: 'broken' as never })
  await model.time.pass(60_000)
  const { phase, reason, message } = model.get('orders').status ?? {}
  assert.deepEqual([phase, reason, message], ['Failed', 'InvalidSpec', 'spec.mode: broken is no mode'])
  assert.deepEqual([model.jobs, model.configMaps], [[], []])
  model.put('backup', 'orders', { mode: 'full' })
  await model.time.pass(1000)
  assert.equal(model.jobs.length, 1)
  await operator.stop()
})

for (const [code, what] of [
  ['KUBE_DENIED', 'exceeded quota: pods'],
  ['KUBE_INVALID', 'violates PodSecurity "restricted"'],
] as const) {
  test(`reports a refused Job (${what}), and retries with growing delays until it is accepted`, async () => {
    const model = new OperatorModel()
    let isRefused = true
    const operator = model.start({
      around: (verb, act, _, { kind }) => {
        if (isRefused && verb === 'create' && kind === 'Job') throw new KubeError(code, what)
        return act()
      },
    })
    model.put('backup', 'orders')
    await model.time.pass(1000)
    const countTries = () => model.calls.filter(({ verb, kind }) => verb === 'create' && kind === 'Job').length
    for (let count = 0; count < 10; count++) {
      model.put('backup', 'orders', {}, { labels: { count: String(count) } })
      await model.time.pass(100)
    }
    assert.equal(countTries(), 1)
    await model.time.pass(3_600_000)
    const tries = countTries()
    assert.ok(tries > 5 && tries < 30, `${tries} tries in an hour`)
    const { phase, reason, message = '' } = model.get('orders').status ?? {}
    assert.deepEqual([phase, reason], ['Failed', 'JobRefused'])
    assert.ok(message.includes(what), message)
    isRefused = false
    await model.time.pass(15 * 60_000)
    assert.equal(model.jobs.length, 1)
    assert.equal(model.get('orders').status?.phase, 'Pending')
    await operator.stop()
  })
}

test('reports a missing permission at the resource, and retries', async () => {
  const model = new OperatorModel()
  let isDenied = true
  const operator = model.start({
    around: (verb, act, _, { kind }) => {
      if (isDenied && kind === 'ConfigMap') throw new KubeError('KUBE_DENIED', `cannot ${verb} configmaps "orders"`)
      return act()
    },
  })
  model.put('backup', 'orders')
  await model.time.pass(1000)
  const { phase, message = '' } = model.get('orders').status ?? {}
  assert.equal(phase, 'Failed')
  assert.match(message, /configmaps "orders"\. Grant the account/)
  isDenied = false
  await model.time.pass(60_000)
  assert.equal(model.jobs.length, 1)
  await operator.stop()
})

test('reports a foreign Job with the same name, and leaves it alone', async () => {
  const model = new OperatorModel()
  const { metadata } = model.put('backup', 'orders')
  const name = `orders-${metadata.uid}-once`
  model.kube.put(jobKind, { apiVersion: 'batch/v1', kind: 'Job', metadata: { name, namespace } })
  const operator = model.start()
  await model.time.pass(1000)
  const { reason, message = '' } = model.get('orders').status ?? {}
  assert.equal(reason, 'NameTaken')
  assert.ok(message.includes(name))
  assert.equal(model.jobs[0]?.metadata.ownerReferences, undefined)
  await operator.stop()
})

test('ignores foreign objects of the same name in another namespace', async () => {
  const model = new OperatorModel()
  const operator = model.start()
  model.put('backup', 'orders', {}, { namespace: 'elsewhere' })
  await model.time.pass(10_000)
  assert.deepEqual(model.jobs, [])
  await operator.stop()
})

test('serves several or all namespaces if configured', async () => {
  for (const namespaces of [undefined, ['shop', 'elsewhere']]) {
    const model = new OperatorModel()
    const operator = model.start({ namespaces })
    model.put('backup', 'orders', {}, { namespace: 'elsewhere' })
    model.put('restore', 'orders')
    await model.time.pass(10_000)
    assert.equal(model.jobs.length, 2)
    await operator.stop()
  }
})

test('writes the status only if it differs', async () => {
  const model = new OperatorModel()
  const operator = model.start()
  model.put('backup', 'orders')
  await model.time.pass(1000)
  const before = model.calls.length
  for (let count = 0; count < 20; count++) {
    model.put('backup', 'orders', {}, { labels: { count: String(count) }, ...{ generation: 1 } })
    await model.time.pass(100)
  }
  const after = model.calls.slice(before).filter(call => !isOfElection(call))
  assert.deepEqual(after.filter(isWrite), [])
  await operator.stop()
})

test('logs an event that cannot be written, and continues', async () => {
  const model = new OperatorModel()
  const operator = model.start({
    around: (verb, act, _, { kind }) => {
      if (verb === 'apply' && kind === 'Event') throw new KubeError('KUBE_DENIED', 'no events for you')
      return act()
    },
  })
  model.put('backup', 'orders')
  await model.time.pass(1000)
  assert.equal(model.jobs.length, 1)
  assert.ok(model.log.some(({ level, message }) => level === 'warn' && message.includes('no events for you')))
  assert.ok(!model.told.includes('reconciled orders badly'))
  await operator.stop()
})

test('sets a finalizer before it creates the Job, and removes it by plan', async () => {
  const model = new OperatorModel()
  const operator = model.start()
  model.put('backup', 'orders', { deletionPolicy: 'Delete' })
  await model.time.pass(1000)
  assert.deepEqual(model.get('orders').metadata.finalizers, ['kafka-backup.dev/delete-backup'])
  model.kube.remove(kinds.backup, { namespace, name: 'orders' })
  await model.time.pass(1000)
  assert.deepEqual(model.kube.all(kinds.backup), [])
  assert.ok(model.told.includes('gone backup orders'))
  await operator.stop()
})

test('a reset that takes its snapshot wakes the rollbacks that refer to it', async () => {
  const model = new OperatorModel()
  const seen: unknown[] = []
  const { plainPlanner } = await import('./plain-planner.ts')
  const operator = model.start({
    planner: {
      ...plainPlanner,
      planResource: situation => {
        if (situation.controller === 'offset_rollback') seen.push(situation.referredSnapshotId)
        return { actions: [], status: situation.resource.status ?? {}, after: [], events: [], ended: [] }
      },
    },
  })
  model.put('offset_rollback', 'back', { resetRef: { name: 'to-start' } })
  model.put('offset_rollback', 'other', { resetRef: { name: 'another' } })
  await model.time.pass(1000)
  const reset = model.put('offset_reset', 'to-start')
  await model.time.pass(1000)
  const count = seen.length
  model.kube.applyStatus(kinds.offset_reset, { ...reset, status: { snapshotId: 'snap-1' } } as never)
  await model.time.pass(1000)
  assert.deepEqual(seen.slice(0, 2), [null, null])
  assert.deepEqual(seen.slice(count), ['snap-1'])
  await operator.stop()
})

test('passes a missing license secret to the plan, and checks again', async () => {
  const model = new OperatorModel()
  const seen: boolean[] = []
  const { plainPlanner } = await import('./plain-planner.ts')
  const operator = model.start({
    planner: {
      ...plainPlanner,
      planResource: situation => {
        seen.push(situation.isLicenseMissing)
        return { ...plainPlanner.planResource(situation), recheckAtMs: situation.nowMs + 30_000 }
      },
    },
  })
  model.put('backup', 'orders', { enterprise: { licenseSecret: { name: 'license' } } })
  await model.time.pass(1000)
  assert.equal(model.jobs.length, 1)
  assert.ok(seen.every(isMissing => isMissing))
  putSecret(model, 'license')
  await model.time.pass(120_000)
  assert.equal(seen.at(-1), false)
  await operator.stop()
})

test('a license secret that may not be read blocks nothing', async () => {
  const model = new OperatorModel()
  const seen: (string | undefined)[] = []
  const { plainPlanner } = await import('./plain-planner.ts')
  const operator = model.start({
    around: (verb, act, _, { kind }) => {
      if (verb === 'getMetadata' && kind === 'Secret') throw new KubeError('KUBE_DENIED', 'no secrets for you')
      return act()
    },
    planner: {
      ...plainPlanner,
      planResource: situation => {
        seen.push(situation.licenseTrouble)
        return plainPlanner.planResource(situation)
      },
    },
  })
  model.put('backup', 'orders', { enterprise: { licenseSecret: { name: 'license' } } })
  await model.time.pass(1000)
  assert.equal(model.jobs.length, 1)
  assert.match(seen[0] ?? '', /no secrets for you/)
  assert.ok(!model.told.includes('reconciled orders badly'))
  await operator.stop()
})

test('a run starts although its secrets may not be read, and the status reports that they are unknown', async () => {
  const model = new OperatorModel()
  const operator = model.start({
    planner: createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' }),
    around: (verb, act, _, { kind }) => {
      if (verb === 'getMetadata' && kind === 'Secret') throw new KubeError('KUBE_DENIED', 'no secrets for you')
      return act()
    },
  })
  for (const [name, schedule] of [['once'], ['nightly', '0 2 * * *']] as const) {
    model.put('backup', name, { ...s3Spec, ...(schedule && { schedule }) })
    await model.time.pass(1000)
    const { phase, conditions } = model.get(name).status ?? {}
    const found = conditions?.find(({ type }) => type === 'SecretsFound')
    assert.deepEqual([phase, found?.status, found?.reason], ['Pending', 'Unknown', 'SecretsUnknown'])
    assert.match(found?.message ?? '', /no secrets for you/)
  }
  assert.deepEqual([model.jobs.length, model.told.includes('reconciled once badly')], [1, false])
  await operator.stop()
})

test('a scheduled backup reports a missing secret when it is accepted, before a run is due, and notices when it exists', async () => {
  const model = new OperatorModel()
  const planner = createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' })
  const operator = model.start({ planner })
  const ready = () => {
    const found = model.get('nightly').status?.conditions?.find(({ type }) => type === 'Ready')
    return [found?.status, found?.reason]
  }
  model.put('backup', 'nightly', { ...s3Spec, schedule: '0 2 * * *' })
  await model.time.pass(1000)
  assert.deepEqual(ready(), ['False', 'SecretMissing'])
  putSecret(model, 'login')
  await model.time.pass(16_000)
  assert.deepEqual(ready(), ['True', 'Accepted'])
  const checks = () => model.calls.filter(({ kind }) => kind === 'Secret').length
  const before = checks()
  await model.time.pass(60 * 60_000)
  assert.equal(checks(), before, 'a spec that was accepted is not checked again')
  await operator.stop()
})

test('a scheduled backup reports its secrets as found once the check is allowed, also with a run in between', async () => {
  for (const schedule of ['0 2 * * *', '* * * * *']) {
    const model = new OperatorModel()
    let isDenied = true
    const operator = model.start({
      planner: createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' }),
      around: (verb, act, _, { kind }) => {
        const isCheck = verb === 'getMetadata' && kind === 'Secret'
        if (isCheck && isDenied) throw new KubeError('KUBE_DENIED', 'no secrets for you')
        return act()
      },
    })
    const found = () => model.get('nightly').status?.conditions?.find(({ type }) => type === 'SecretsFound')?.status
    putSecret(model, 'login')
    model.put('backup', 'nightly', { ...s3Spec, schedule })
    await model.time.pass(1000)
    assert.equal(found(), 'Unknown')
    isDenied = false
    await model.time.pass(schedule === '* * * * *' ? 61_000 : 6 * 60_000)
    assert.deepEqual([found(), model.jobs.length], ['True', schedule === '* * * * *' ? 1 : 0])
    await operator.stop()
  }
})

test('a suspended backup reports its secrets as found once they exist', async () => {
  const model = new OperatorModel()
  const planner = createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' })
  const operator = model.start({ planner })
  const found = () => model.get('nightly').status?.conditions?.find(({ type }) => type === 'SecretsFound')?.status
  model.put('backup', 'nightly', { ...s3Spec, schedule: '0 2 * * *', suspend: true })
  await model.time.pass(1000)
  assert.equal(found(), 'False')
  putSecret(model, 'login')
  await model.time.pass(6 * 60_000)
  assert.equal(found(), 'True')
  await operator.stop()
})

const s3Spec = {
  kafkaCluster: { bootstrapServers: ['kafka:9092'] },
  topics: { include: ['*'] },
  storage: {
    backend: 's3',
    bucket: 'backups',
    region: 'eu-west-1',
    accessKeyIdSecret: { name: 'login', key: 'id' },
    secretAccessKeySecret: { name: 'login', key: 'key' },
  },
}

test('a process that is stopped while it writes a status still writes the event', async () => {
  const model = new OperatorModel()
  let stopping: Promise<void> | undefined
  const operator = model.start({
    around: async (verb, act, signal, { kind }) => {
      const result = await act()
      if (verb === 'applyStatus' && kind === 'KafkaBackup' && model.jobs[0]?.status !== undefined) {
        stopping ??= operator.stop()
        signal.throwIfAborted()
      }
      return result
    },
  })
  model.put('backup', 'orders')
  await model.time.pass(1000)
  model.endJob(model.jobs[0] as never)
  await model.time.pass(1000)
  await stopping
  const events = model.calls.filter(({ verb, kind }) => verb === 'apply' && kind === 'Event')
  assert.deepEqual([model.get('orders').status?.phase, events.length], ['Completed', 2])
  assert.ok(model.told.includes('ended orders once Completed'))
})
