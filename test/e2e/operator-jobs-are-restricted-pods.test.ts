import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type ResourceSpec, resourceKinds } from '../../src/operator/crd/resource.ts'
import { buildCommit } from '../../src/operator/job/build-commit.ts'
import { buildJob } from '../../src/operator/job/build-job.ts'
import { buildConfigMap } from '../../src/operator/job/build-pod.ts'
import { type JobPod, type JobStep, jobFilePath } from '../../src/operator/job/job-pod.ts'
import type { JobState } from '../../src/operator/job/job-state.ts'
import { configMapKind, type Job, jobKind, podKind } from '../../src/operator/job/kube-job.ts'
import { readJobState } from '../../src/operator/job/read-job-state.ts'
import { type KubeClient, openKubeClient } from '../../src/operator/kube/client.ts'
import { readKubeconfig } from '../../src/operator/kube/credentials.ts'
import { fullTest } from '../full.ts'
import { type KubeletImage, kafkaBackupImage } from '../servers/kubelet-images.ts'
import { createSecret, useSharedKube, waitFor } from '../servers/use-kube.ts'

const apiGroup = 'kafka-backup.dev'
/** Of 253 characters, as long as a name can be. */
const longName = `${'orders.'.repeat(36)}x`

/** Any KafkaBackup: without its owner a Job would be collected. No operator looks at it. */
const owner: ResourceSpec = {
  backupId: 'orders',
  kafkaCluster: { bootstrapServers: ['127.0.0.1:9092'] },
  topics: { include: ['t'] },
  storage: { backend: 'pvc', pvc: { claimName: 'backups' } },
}

/** A process of the test's own in the place of the command: it ends as `JOB_SCRIPT` says. */
const scriptImage: KubeletImage = { entrypoint: ['/bin/sh', '-c', 'eval "$JOB_SCRIPT"', 'sh'], user: 65_532 }
const images = { 'kafka-backup': kafkaBackupImage(), script: scriptImage }
const use = useSharedKube({ images })

const open = new AbortController().signal
const kinds = resourceKinds(apiGroup)

let api: KubeClient | undefined
let namespace: string
after(() => api?.close())

async function openNamespace(): Promise<KubeClient> {
  if (api) return api
  namespace = await use.kube.makeNamespace('restricted')
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await use.kube.api.patch({ apiVersion: 'v1', kind: 'Namespace', name: namespace }, { metadata: { labels } })
  api = openKubeClient(
    await readKubeconfig(await use.kube.kubeconfigFor({ user: 'operator', groups: ['system:masters'] })),
  )
  return api
}

interface DesiredOffset extends Partial<JobPod> {
  name: string
  image?: string
  spec?: ResourceSpec
  step?: Partial<JobStep>
}

async function startJob({ name, image = 'kafka-backup', spec = {}, step, ...pod }: DesiredOffset): Promise<Job> {
  const client = await openNamespace()
  const { apiVersion, kind } = kinds.backup
  const metadata = { name, namespace }
  const resource = await client.create(kinds.backup, { apiVersion, kind, metadata, spec: { ...owner, ...spec } }, open)
  const plan: JobPod = { args: [], jobFile: 'mode: backup\n', env: [], volumes: [], mounts: [], secrets: [], ...pod }
  const identity = { controller: 'backup', resource, apiGroup, run: 'once', dueMs: 1_794_000_000_123 } as const
  const whole: JobStep = { purpose: 'main', stage: 'whole', shards: 1, backupId: 'orders', ...step }
  await client.create(configMapKind, buildConfigMap(identity, plan.jobFile), open)
  const settings = { image, serviceAccountName: 'default' }
  return client.create(jobKind, buildJob({ ...identity, step: whole, pod: plan, settings }), open)
}

/** A pod that leaves this result and ends so. */
function script(result: object, exit: number): Partial<DesiredOffset> {
  const lines = `printf %s "$RESULT" > "$KAFKA_BACKUP_RESULT_FILE"; exit ${exit}`
  return {
    image: 'script',
    env: [
      { name: 'RESULT', value: JSON.stringify(result) },
      { name: 'JOB_SCRIPT', value: lines },
    ],
  }
}

async function stateOf({ metadata }: Job): Promise<JobState> {
  const client = await openNamespace()
  const job = await client.get(jobKind, { namespace, name: metadata.name }, open)
  const { items } = await client.list(podKind, { namespace }, open)
  return readJobState(job, items, Date.now())
}

async function waitForState(job: Job, check: (state: JobState) => boolean): Promise<JobState> {
  let state = await stateOf(job)
  const isSo = async () => {
    state = await stateOf(job)
    return check(state)
  }
  await waitFor(`the state of ${job.metadata.name}`, isSo).catch(error => {
    throw new Error(`${error.message}: ${JSON.stringify(state)}`)
  })
  return state
}

const untilEnd = async (job: Job) => {
  const state = await waitForState(job, ({ end }) => end !== undefined)
  assert.ok(state.end)
  return { ...state, end: state.end }
}

test('a Job with the longest name runs the command in a restricted namespace', async () => {
  const job = await startJob({
    name: longName,
    args: ['list', '--path', '/tmp', '--format', 'json'],
    spec: { job: { activeDeadlineSeconds: 60 }, resources: { limits: { memory: '512Mi' } } },
  })
  const { end, ...state } = await untilEnd(job)
  assert.deepEqual([end.isSuccess, end.isStillTrying, end.totals.gaps], [true, false, 0])
  assert.ok(Math.abs(end.completedMs - Date.now()) < 60_000)
  const { run, purpose, stage, shards, backupId, dueMs } = state
  assert.deepEqual(
    { run, purpose, stage, shards, backupId, dueMs },
    { run: 'once', purpose: 'main', stage: 'whole', shards: 1, backupId: 'orders', dueMs: 1_794_000_000_123 },
  )
})

test('an invalid job file ends the run immediately, with the message of the command', async () => {
  const job = await startJob({ name: 'wrong', args: ['backup', '--config', jobFilePath] })
  const { end } = await untilEnd(job)
  assert.deepEqual([end.isSuccess, end.isStillTrying, end.reason], [false, false, 'CONFIG_INVALID'])
  assert.match(end.message ?? '', /backupId/)
})

test('a permanent error ends the run although its Job has retries left', async () => {
  const args = ['verify', '--path', '/tmp', '--backup-id', 'none$(POD_IP)']
  const { end } = await untilEnd(await startJob({ name: 'hopeless', args }))
  assert.deepEqual([end.isSuccess, end.isStillTrying, end.reason], [false, true, 'BACKUP_NOT_FOUND'])
  assert.match(end.message ?? '', /none\$\(POD_IP\)/, 'nobody puts variables into what a resource says')
})

test('each pod of a sharded backup has its index, and their totals are summed', async () => {
  const result = { ok: true, command: 'backup', exit: 0, retryable: false, gaps: 1, totals: { records: 10, bytes: 7 } }
  const job = await startJob({
    name: 'shards',
    step: { stage: 'shards', shards: 3 },
    ...script(result, 0),
    env: [
      { name: 'RESULT', value: JSON.stringify(result) },
      {
        name: 'JOB_SCRIPT',
        value: 'test "$1 $2" = "--shard $JOB_COMPLETION_INDEX/3" && printf %s "$RESULT" > "$KAFKA_BACKUP_RESULT_FILE"',
      },
    ],
  })
  const { end } = await untilEnd(job)
  assert.deepEqual([end.isSuccess, end.totals], [true, { records: 30, bytes: 21, gaps: 3 }])
  await assertCommitAccepted(job)
})

/** The Job of the shards as the API server returns it is the base of the one that commits them after an edit of the spec. */
async function assertCommitAccepted({ metadata }: Job): Promise<void> {
  const client = await openNamespace()
  const shards = await client.get(jobKind, { namespace, name: metadata.name }, open)
  const resource = await client.get(kinds.backup, { namespace, name: 'shards' }, open)
  const step = { purpose: 'main', stage: 'commit', shards: 3, backupId: 'orders' } as const
  const identity = { controller: 'backup', resource, apiGroup, run: 'once', dueMs: 1_794_000_000_123, step } as const
  const commit = await client.create(jobKind, buildCommit(identity, shards), open)
  assert.deepEqual([commit.spec.completions, commit.spec.completionMode], [1, 'NonIndexed'])
  const state = await waitForState(commit, ({ failedPods, end }) => failedPods !== undefined || end !== undefined)
  assert.equal(state.stage, 'commit', 'its pod has run')
  const { uid = '' } = commit.metadata
  await client.remove(jobKind, { namespace, name: commit.metadata.name }, { propagation: 'Background', uid }, open)
}

test('a failed shard is retried alone, and keeps what its first pod reported', async () => {
  const result = (exit: number, more: object) =>
    JSON.stringify({ ok: exit === 0, command: 'backup', exit, retryable: exit !== 0, ...more })
  const failures = { fieldRef: { fieldPath: "metadata.annotations['batch.kubernetes.io/job-index-failure-count']" } }
  const lines = `
    if [ "$JOB_COMPLETION_INDEX-$FAILURES" = 1-0 ]; then printf %s "$FIRST" > "$KAFKA_BACKUP_RESULT_FILE"; exit 1; fi
    printf %s "$LAST" > "$KAFKA_BACKUP_RESULT_FILE"`
  const job = await startJob({
    name: 'tried',
    image: 'script',
    step: { stage: 'shards', shards: 2 },
    env: [
      { name: 'FIRST', value: result(1, { gaps: 2, totals: { records: 1 }, message: 'no broker' }) },
      { name: 'LAST', value: result(0, { gaps: 0, totals: { records: 10 } }) },
      { name: 'FAILURES', valueFrom: failures },
      { name: 'JOB_SCRIPT', value: lines },
    ],
  })
  const { failedPods, end: none } = await waitForState(job, state => state.failedPods !== undefined)
  assert.deepEqual([failedPods, none], [{ count: 1, message: 'no broker', reason: 'PodFailed' }, undefined])
  const { end } = await untilEnd(job)
  assert.deepEqual([end.isSuccess, end.totals], [true, { records: 21, gaps: 2 }])
})

fullTest('a shard without retries left ends the others, and is the reported reason', async () => {
  const value = `
    if [ "$JOB_COMPLETION_INDEX" = 1 ]; then printf %s "$RESULT" > "$KAFKA_BACKUP_RESULT_FILE"; exit 1; fi
    trap "exit 143" TERM; sleep 60 & wait`
  const result = {
    ok: false,
    command: 'backup',
    exit: 1,
    retryable: true,
    code: 'STORAGE_UNAVAILABLE',
    message: 'down',
  }
  const job = await startJob({
    name: 'spent',
    image: 'script',
    spec: { job: { backoffLimit: 0 } },
    step: { stage: 'shards', shards: 2 },
    env: [
      { name: 'RESULT', value: JSON.stringify(result) },
      { name: 'JOB_SCRIPT', value },
    ],
  })
  const { end } = await untilEnd(job)
  assert.deepEqual([end.isSuccess, end.isStillTrying, end.reason], [false, false, 'STORAGE_UNAVAILABLE'])
  const client = await openNamespace()
  const { status } = await client.get(jobKind, { namespace, name: job.metadata.name }, open)
  assert.equal(status?.conditions?.find(({ type }) => type === 'Failed')?.reason, 'MaxFailedIndexesExceeded')
})

test('partial success is Partial, and a killed pod is reported with an unknown reason', async () => {
  const result = { ok: false, command: 'backup', exit: 4, code: 'BACKUP_PARTIAL', message: 'p 0: broker 3 went away' }
  const totals = { records: 5, bytes: 50 }
  const spec = { job: { backoffLimit: 0 } }
  const wish = script({ ...result, retryable: true, totals }, 4)
  const partly = await untilEnd(await startJob({ name: 'partial', spec, ...wish }))
  assert.deepEqual([partly.end.reason, partly.end.totals], ['Partial', { ...totals, gaps: 0 }])
  assert.match(partly.end.message ?? '', /broker 3 went away/)
  const env = [{ name: 'JOB_SCRIPT', value: 'exit 137' }]
  const killed = await untilEnd(await startJob({ name: 'killed', image: 'script', spec, env }))
  assert.deepEqual([killed.end.isSuccess, killed.end.reason, killed.end.totals], [false, 'Killed', {}])
})

test('waits for the missing key of a secret', async () => {
  const env = [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } }]
  const job = await startJob({ name: 'secret', args: ['list', '--path', '/tmp'], env })
  const { waiting, end } = await waitForState(job, state => state.waiting !== undefined)
  assert.deepEqual([waiting?.reason, end], ['CreateContainerConfigError', undefined])
  assert.match(waiting?.message ?? '', /secret "login" not found/)
  await createSecret(use, namespace, 'login', { password: 'x' })
  assert.equal((await untilEnd(job)).end.isSuccess, true)
})

fullTest('a run that exceeds its deadline is stopped, and fails when its pod is gone', async () => {
  const value = 'trap "sleep 1; exit 143" TERM; sleep 60 & wait'
  const spec = { job: { activeDeadlineSeconds: 2 } }
  const job = await startJob({ name: 'late', image: 'script', spec, env: [{ name: 'JOB_SCRIPT', value }] })
  const { running } = await waitForState(job, state => state.running.length > 0)
  assert.match(running[0]?.ip ?? '', /^127\./)
  const { end } = await untilEnd(job)
  assert.deepEqual([end.isSuccess, end.isStillTrying, end.reason], [false, false, 'DeadlineExceeded'])
  assert.match(end.message ?? '', /2 seconds of spec\.job\.activeDeadlineSeconds/)
})
