import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classifyAnswer } from '../../../src/operator/kube/kube-error.ts'
import { createPlanner } from '../../../src/operator/run/planner.ts'
import { OperatorModel, type StartOptions } from './operator-model.ts'

const planner = createPlanner('kafka-backup.dev', { image: 'kafka-backup:1', serviceAccountName: 'default' })
const backup = {
  schedule: '@daily',
  verify: { schedule: '@weekly' },
  kafkaCluster: { bootstrapServers: ['kafka:9092'] },
  topics: { include: ['*'] },
  storage: { backend: 'pvc', pvc: { claimName: 'backups' } },
}

/** An API server with a CRD that lacks the field, in the words of a real one. */
function serveWithout(field: string) {
  const model = new OperatorModel()
  const apply = model.kube.applyStatus.bind(model.kube)
  model.kube.applyStatus = (kind, object) => {
    const { status = {} } = object as { status?: object }
    if (!(field in status)) return apply(kind, object)
    const message = `failed to create typed patch object (shop/nightly; kafka-backup.dev/v1alpha1, Kind=KafkaBackup): .status.${field}: field not declared in schema`
    const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code: 500 })
    throw classifyAnswer({ status: 500, headers: {}, body }, 'patch the status of kafkabackups')
  }
  return { model, operator: model.start({ planner } satisfies StartOptions) }
}

test('a CRD of an earlier release, without schedules, gets the rest of the status, and the log says what to upgrade', async () => {
  const { model, operator } = serveWithout('schedules')
  model.put('backup', 'nightly', backup)
  await model.time.pass(1000)
  const { status } = model.get('nightly')
  assert.deepEqual([status?.schedules, typeof status?.nextVerifyTime], [undefined, 'string'])
  const warnings = model.log.filter(({ level }) => level === 'warn').map(({ message }) => message)
  assert.deepEqual(
    [warnings.length, /CustomResourceDefinition is of an earlier release/.test(warnings[0] ?? '')],
    [1, true],
  )
  await operator.stop()
})

test('no other field is left out, because plans need it', async () => {
  const { model, operator } = serveWithout('nextVerifyTime')
  model.put('backup', 'nightly', backup)
  await model.time.pass(1000)
  assert.equal(model.get('nightly').status, undefined)
  assert.match(model.log.find(({ level }) => level === 'warn')?.message ?? '', /field not declared in schema/)
  await operator.stop()
})
