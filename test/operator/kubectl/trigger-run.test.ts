import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../../src/lib/clock.ts'
import { type Resource, resourceKinds } from '../../../src/operator/crd/resource.ts'
import type { ActiveRun, ResourceStatus } from '../../../src/operator/crd/status.ts'
import type { KubeApi } from '../../../src/operator/kube/kube-api.ts'
import { triggerRun } from '../../../src/operator/kubectl/trigger-run.ts'

const apiGroup = 'kafka-backup.dev'
const open = new AbortController().signal
const drill: ActiveRun = { run: 'drill-1', purpose: 'drill', job: 'd', startTime: '2026-11-16T02:00:01Z' }
const main: ActiveRun = { run: 'generation-2', purpose: 'main', job: 'm', startTime: '2026-11-16T02:00:00Z' }

/** The operator answers every trigger with this status. */
function trigger(statusOf: (value: string) => ResourceStatus): Promise<string> {
  const resource: Resource = {
    ...{ apiVersion: `${apiGroup}/v1alpha1`, kind: 'KafkaBackup', spec: {} },
    metadata: { name: 'orders', namespace: 'shop', uid: 'r' },
  }
  let value = ''
  let nowMs = 0
  const api = {
    apply: async (_: unknown, { metadata }: Resource) => {
      value = metadata.annotations?.[`${apiGroup}/trigger`] ?? ''
    },
    get: async () => ({ ...resource, status: statusOf(value) }),
  } as unknown as KubeApi
  const clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    sleep: async (ms: number) => {
      nowMs += ms
    },
  } as unknown as Clock
  const parts = { api, clock, apiGroup, kinds: resourceKinds(apiGroup), id: 'a', onWait: () => undefined }
  return triggerRun({ controller: 'backup', resource }, parts, open)
}

test('a run that does not start is not blamed on a drill, which no backup waits for', async () => {
  const blocked = { reason: 'StorageUnavailable', message: 'Denied.' }
  await assert.rejects(
    trigger(() => ({ ...blocked, active: [drill] })),
    /its run has not started: StorageUnavailable: Denied\.$/,
  )
  await assert.rejects(
    trigger(() => ({ ...blocked, active: [drill, main] })),
    /: run generation-2 is still active$/,
  )
})

test('the run of a continuous backup is not mistaken for the drill next to it', async () => {
  assert.equal(await trigger(lastTrigger => ({ lastTrigger, active: [drill, main] })), 'generation-2')
})
