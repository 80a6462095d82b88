import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trueCondition } from './kube-object.ts'
import type { Container } from './kubelet-pod-spec.ts'
import { endsOf, messageOf, podsOf, shell, useKube, waitFor } from './use-kube.ts'

const use = useKube()

test('a Job runs a process to its end and is complete', async () => {
  const namespace = await use.kube.makeNamespace('job')
  const job = await createJob(namespace, { template: podTemplate(shell('echo hello; exit 0')) })
  await use.kube.api.wait(job, each => trueCondition(each, 'Complete') !== undefined)
  const [pod] = await podsOf(use, namespace)
  assert.equal(pod?.status?.phase, 'Succeeded')
  assert.deepEqual(endsOf(pod), [['Completed', 0]])
  assert.equal(await use.kubelet.logs(namespace, pod?.metadata.name ?? ''), 'hello\n')
})

test('an Indexed Job gives each pod its index', async () => {
  const namespace = await use.kube.makeNamespace('indexed')
  const shape = { completionMode: 'Indexed', completions: 3, parallelism: 3 }
  const script = 'echo "$JOB_COMPLETION_INDEX of $INDEX by $(JOB_COMPLETION_INDEX)" > /dev/termination-log'
  const env = [indexVariable]
  const job = await createJob(namespace, { ...shape, template: podTemplate(shell(script, { env })) })
  const done = await use.kube.api.wait(job, each => trueCondition(each, 'Complete') !== undefined)
  assert.equal((done.status as { completedIndexes: string }).completedIndexes, '0-2')
  const messages = (await podsOf(use, namespace)).map(pod => messageOf(pod))
  assert.deepEqual(messages.sort(), ['0 of 0 by 0\n', '1 of 1 by 1\n', '2 of 2 by 2\n'])
})

test('a pod failure policy fails the Job at an exit code without another try', async () => {
  const namespace = await use.kube.makeNamespace('policy')
  const onExitCodes = { operator: 'In', values: [2, 3, 5] }
  const podFailurePolicy = { rules: [{ action: 'FailJob', onExitCodes }] }
  const template = podTemplate(shell('exit 3'))
  const job = await createJob(namespace, { backoffLimit: 6, podFailurePolicy, template })
  const failed = await use.kube.api.wait(job, each => trueCondition(each, 'Failed') !== undefined)
  assert.equal(trueCondition(failed, 'Failed')?.reason, 'PodFailurePolicy')
  assert.match(trueCondition(failed, 'Failed')?.message ?? '', /exit code 3/)
  assert.equal((await podsOf(use, namespace)).length, 1)
})

test('a failed pod of a Job counts against its limit', async () => {
  const namespace = await use.kube.makeNamespace('limit')
  const job = await createJob(namespace, { backoffLimit: 0, template: podTemplate(shell('exit 1')) })
  const failed = await use.kube.api.wait(job, each => trueCondition(each, 'Failed') !== undefined)
  assert.equal(trueCondition(failed, 'Failed')?.reason, 'BackoffLimitExceeded')
})

test('a Job past its deadline ends its processes', async () => {
  const namespace = await use.kube.makeNamespace('deadline')
  const container = shell('trap "exit 0" TERM; sleep 60 & wait')
  const job = await createJob(namespace, { activeDeadlineSeconds: 2, template: podTemplate(container) })
  const failed = await use.kube.api.wait(job, each => trueCondition(each, 'Failed') !== undefined)
  assert.equal(trueCondition(failed, 'Failed')?.reason, 'DeadlineExceeded')
  await waitFor('no pods', async () => (await podsOf(use, namespace)).length === 0)
})

test('a finished Job with a time to live goes away with its pods', async () => {
  const namespace = await use.kube.makeNamespace('ttl')
  const job = await createJob(namespace, { ttlSecondsAfterFinished: 0, template: podTemplate(shell('exit 0')) })
  await use.kube.api.waitGone(job)
  assert.deepEqual(await podsOf(use, namespace), [])
})

test('a Deployment keeps its number of pods when one is deleted', async () => {
  const namespace = await use.kube.makeNamespace('deployment')
  const labels = { app: 'test' }
  const template = { metadata: { labels }, spec: { containers: [shell('trap "exit 0" TERM; sleep 60 & wait')] } }
  const spec = { replicas: 2, selector: { matchLabels: labels }, template }
  const ref = { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name: 'test' }
  await use.kube.api.create({ ...ref, metadata: { name: 'test', namespace }, spec })
  await use.kube.api.wait(ref, each => (each.status as { readyReplicas?: number }).readyReplicas === 2)
  const [pod] = await podsOf(use, namespace)
  const podRef = { apiVersion: 'v1', kind: 'Pod', namespace, name: pod?.metadata.name ?? '' }
  await use.kube.api.delete(podRef)
  await use.kube.api.waitGone(podRef)
  await use.kube.api.wait(ref, each => (each.status as { readyReplicas?: number }).readyReplicas === 2)
})

const indexVariable = {
  name: 'INDEX',
  valueFrom: { fieldRef: { fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']" } },
}

function podTemplate(container: Container): object {
  return { spec: { restartPolicy: 'Never', containers: [container] } }
}

async function createJob(namespace: string, spec: object) {
  const ref = { apiVersion: 'batch/v1', kind: 'Job', namespace, name: 'job' }
  await use.kube.api.create({ ...ref, metadata: { name: 'job', namespace }, spec })
  return ref
}
