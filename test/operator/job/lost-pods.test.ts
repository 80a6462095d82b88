import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod, PodStatus } from '../../../src/operator/job/kube-job.ts'
import { readJobState } from '../../../src/operator/job/read-job-state.ts'
import { conditions, ended, sampleJob, samplePod, timeAt } from './samples.ts'

const nowMs = Date.parse(timeAt(40))
const lostMs = 5 * 60_000
const job = (status = {}) => sampleJob({ startTime: timeAt(1), active: 1, ...status })
const running = (isReady: boolean, isContainerReady: boolean): PodStatus => ({
  phase: 'Running',
  podIP: '10.0.0.7',
  conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: timeAt(20) }],
  containerStatuses: [{ name: 'kafka-backup', ready: isContainerReady, state: { running: {} } }],
})

test('a pod is lost five minutes after its node stopped reporting, and the message says what to do', () => {
  const pod = { ...samplePod({ status: running(false, true) }), spec: { nodeName: 'worker-3' } }
  const { lost } = readJobState(job(), [pod], nowMs)
  assert.equal(lost?.atMs, Date.parse(timeAt(20)) + lostMs)
  assert.match(lost?.message ?? '', /not been observed since 2026-11-16T02:00:20Z: node worker-3 does not report/)
  assert.match(lost?.message ?? '', /kubectl delete node worker-3/)
  assert.match(
    lost?.message ?? '',
    /`kubectl taint node worker-3 node\.kubernetes\.io\/out-of-service=nodeshutdown:NoExecute`/,
  )
})

test('a pod is lost five minutes after the grace period of its deletion', () => {
  const pod = samplePod({ status: running(true, true) })
  pod.metadata.deletionTimestamp = timeAt(25)
  assert.equal(readJobState(job(), [pod], nowMs).lost?.atMs, Date.parse(timeAt(25)) + lostMs)
  const unknown = samplePod({ status: { phase: 'Unknown', startTime: timeAt(3) } })
  assert.equal(readJobState(job(), [unknown], nowMs).lost?.atMs, Date.parse(timeAt(3)) + lostMs)
})

test('a pod that works, that is not ready by its own probe, or that has ended is not lost', () => {
  for (const status of [running(true, true), running(false, false), ended(1, { code: 'KAFKA_TIMEOUT' })]) {
    assert.equal(readJobState(job(), [samplePod({ status })], nowMs).lost, undefined)
  }
})

test('a pod of a Job that has failed is lost in the same way, because the next run waits for it', () => {
  const failed = job({ conditions: conditions.backoff })
  const { lost, hasPods } = readJobState(failed, [samplePod({ status: running(false, true) })], nowMs)
  assert.deepEqual([lost?.atMs, hasPods], [Date.parse(timeAt(20)) + lostMs, true])
  const over = readJobState(failed, [samplePod({ status: ended(1, { code: 'KAFKA_TIMEOUT' }) })], nowMs)
  assert.deepEqual([over.lost, over.hasPods], [undefined, undefined])
})

test('a pod whose sidecar or readiness gate is not ready is not lost: its node reports that', () => {
  const sidecar = running(false, true)
  sidecar.containerStatuses?.push({ name: 'istio-proxy', ready: false, state: { running: {} } })
  const gated = running(false, true)
  const [ready] = gated.conditions ?? []
  if (ready) ready.reason = 'ReadinessGatesNotReady'
  for (const status of [sidecar, gated]) {
    assert.equal(readJobState(job(), [samplePod({ status })], nowMs).lost, undefined)
  }
})

test('a sidecar that outlives the process is reported after a minute, because the Job does not end before it', () => {
  const status = running(false, false)
  const terminated = { exitCode: 0, finishedAt: timeAt(30) }
  status.containerStatuses = [
    { name: 'kafka-backup', ready: false, state: { terminated } },
    { name: 'istio-proxy', ready: true, state: { running: {} } },
  ]
  const pod = samplePod({ status })
  const readAt = (ms: number, ...others: Pod[]) => readJobState(job(), [pod, ...others], ms)
  const early = readAt(nowMs)
  assert.deepEqual([early.waiting, early.running, early.end], [undefined, [], undefined], 'it is read again')
  const { waiting, lost } = readAt(nowMs + 60_000)
  assert.equal(waiting?.reason, 'SidecarRunning')
  assert.match(waiting.message, /ended with exit code 0, but container istio-proxy still runs/)
  assert.equal(lost, undefined)
  const other = samplePod({ index: 1, createdSecond: 3, status: running(true, true) })
  assert.equal(readAt(nowMs + 60_000, other).waiting, undefined, 'another shard works')
  pod.metadata.deletionTimestamp = timeAt(35)
  assert.equal(readAt(nowMs + 60_000).waiting, undefined)
})

test('a process whose sidecar outlives it, or does not start, has begun', () => {
  const statusOf = (phase: string, state: object, sidecar: object): PodStatus => ({
    phase,
    podIP: '10.0.0.7',
    containerStatuses: [
      { name: 'kafka-backup', state },
      { name: 'istio-proxy', state: sidecar },
    ],
  })
  const readOf = (status: PodStatus) => {
    const { waiting, running, hasBegun } = readJobState(job(), [samplePod({ status })], nowMs + 60_000)
    return [waiting?.reason, running.length, hasBegun]
  }
  const terminated = { exitCode: 0, finishedAt: timeAt(30) }
  assert.deepEqual(readOf(statusOf('Running', { terminated }, { running: {} })), ['SidecarRunning', 0, true])
  // Kubernetes calls a pod Pending as long as one of its containers waits.
  const backOff = { waiting: { reason: 'ImagePullBackOff' } }
  assert.deepEqual(readOf(statusOf('Pending', { running: {} }, backOff)), [undefined, 1, true])
  assert.deepEqual(readOf(statusOf('Pending', backOff, { running: {} })), ['ImagePullBackOff', 0, undefined])
})

test('a sidecar that has not started when the process has ended is reported after a minute: Kubernetes waits for it without end', () => {
  const status: PodStatus = {
    phase: 'Pending',
    containerStatuses: [
      { name: 'kafka-backup', state: { terminated: { exitCode: 0, finishedAt: timeAt(30) } } },
      { name: 'istio-proxy', state: { waiting: { reason: 'ImagePullBackOff' } } },
    ],
  }
  const { waiting } = readJobState(job(), [samplePod({ status })], nowMs + 60_000)
  assert.equal(waiting?.reason, 'SidecarRunning')
  assert.match(
    waiting?.message ?? '',
    /ended with exit code 0, but container istio-proxy has not started \(ImagePullBackOff\), so the run does not end\./,
  )
  assert.equal(readJobState(job(), [samplePod({ status })], nowMs).waiting, undefined)
})

test('readiness counts only if the container has a probe', () => {
  const read = (spec: Record<string, unknown>, status = running(true, true)) =>
    readJobState(job(), [{ ...samplePod({ status }), spec }], nowMs).readySinceMs
  const probed = { containers: [{ name: 'kafka-backup', readinessProbe: {} }] }
  assert.equal(read(probed), Date.parse(timeAt(20)))
  assert.equal(read({ containers: [{ name: 'kafka-backup' }] }), undefined)
  assert.equal(read(probed, running(false, false)), undefined)
})
