import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../../src/lib/clock.ts'
import type { Resource } from '../../../src/operator/crd/resource.ts'
import type { KubeClient } from '../../../src/operator/kube/client.ts'
import { KubeError } from '../../../src/operator/kube/kube-error.ts'
import { readRunLog } from '../../../src/operator/kubectl/follow-logs.ts'
import { ManualClock } from '../../cli/manual-clock.ts'

const apiGroup = 'kafka-backup.dev'
const open = new AbortController().signal
const run = { run: 'once', purpose: 'main', job: 'orders-1', startTime: '2026-11-16T02:00:00Z' } as const

function resourceOf(isOver: boolean): Resource {
  const ended = { ...run, phase: 'Completed', completionTime: '2026-11-16T02:10:00Z' } as const
  return {
    ...{ apiVersion: `${apiGroup}/v1alpha1`, kind: 'KafkaBackup', spec: {} },
    metadata: { name: 'orders', namespace: 'shop', uid: 'r' },
    status: isOver ? { history: [ended] } : { active: [run] },
  }
}

function podOf(name: string, second: number, state: object = { terminated: { exitCode: 1 } }): object {
  return {
    metadata: {
      name,
      namespace: 'shop',
      uid: name,
      creationTimestamp: `2026-11-16T02:00:0${second}Z`,
      ownerReferences: [{ uid: 'job' }],
    },
    status: { phase: 'Running', containerStatuses: [{ name: 'kafka-backup', state }] },
  }
}

/** Each list of pods takes the next step; `readAt` returns the resource of each, by default the last step ends the run. */
function worldOf(steps: object[][], readAt = (step: number) => resourceOf(step >= steps.length - 1)) {
  let step = -1
  const job = {
    metadata: {
      name: 'orders-1',
      uid: 'job',
      annotations: { [`${apiGroup}/run`]: 'once' },
      ownerReferences: [{ uid: 'r' }],
    },
  }
  const client = {
    list: async (kind: { kind: string }) => {
      if (kind.kind === 'Job') return { items: [job], resourceVersion: '1' }
      assert.ok(++step < 50, 'it waits without end')
      return { items: steps[Math.min(step, steps.length - 1)], resourceVersion: '1' }
    },
    logs: async function* (pod: { name: string }) {
      yield Buffer.from(`log of ${pod.name}\n`)
    },
  } as unknown as KubeClient
  const shown: string[] = []
  const clock = new ManualClock() as Clock
  const sleep = async () => undefined
  const parts = {
    client,
    apiGroup,
    clock: { ...clock, sleep },
    read: async () => ({ controller: 'backup' as const, resource: readAt(step) }),
    onPod: (name: string) => void shown.push(name),
  }
  const read = async (request: { follow: boolean; run?: string }, resource = resourceOf(false)) => {
    const found = { controller: 'backup' as const, resource }
    let text = ''
    for await (const chunk of readRunLog(found, { run: undefined, tailLines: undefined, ...request }, parts, open)) {
      text += chunk
    }
    return text
  }
  return { read, shown }
}

test('prints the log of the newest pod of the newest run', async () => {
  const { read, shown } = worldOf([[podOf('a', 1), podOf('b', 3), podOf('c', 2)]])
  assert.equal(await read({ follow: false }), 'log of b\n')
  assert.deepEqual(shown, ['b'])
})

test('does not wait for a run that the resource does not have', async () => {
  const { read } = worldOf([[podOf('a', 1)], []])
  await assert.rejects(read({ follow: true, run: 'onec' }), /run onec of KafkaBackup orders has no pod/)
})

test('waits for the container, and follows the pods that replace the first one until the run has ended', async () => {
  const waiting = podOf('a', 1, { waiting: { reason: 'ContainerCreating' } })
  const [a, b] = [podOf('a', 1), podOf('b', 2)]
  const { read } = worldOf([[], [waiting], [a], [a], [a, b], [a, b]])
  assert.equal(await read({ follow: true }), 'log of a\nlog of b\n')
})

test('reports a run without a log instead of printing nothing', async () => {
  await assert.rejects(worldOf([[]]).read({ follow: false }), /run once of KafkaBackup orders has no pod/)
  const waiting = podOf('a', 1, { waiting: { reason: 'ErrImagePull' } })
  await assert.rejects(worldOf([[waiting]]).read({ follow: false }), /pod a of run once has no log yet/)
  const { status: _, ...never } = resourceOf(false)
  await assert.rejects(worldOf([[]]).read({ follow: false }, never), /KafkaBackup orders has not run yet/)
})

const deleting = (uid = 'r'): Resource => {
  const { metadata, ...rest } = resourceOf(false)
  return { ...rest, metadata: { ...metadata, uid }, status: { active: [{ ...run, purpose: 'delete' }] } }
}
const gone = () => {
  throw new KubeError('KUBE_NOT_FOUND', 'kafkabackups "orders" not found', { status: 404 })
}

test('ends with the log of a deletion, after which the resource is gone or created again', async () => {
  const a = podOf('a', 1)
  const { read } = worldOf([[a]], gone)
  assert.equal(await read({ follow: true }, deleting()), 'log of a\n')
  const again = worldOf([[a]], () => deleting('another'))
  assert.equal(await again.read({ follow: true }, deleting()), 'log of a\n')
})

test('reports a resource that is gone during another run, or before the log of its deletion', async () => {
  await assert.rejects(worldOf([[podOf('a', 1)]], gone).read({ follow: true }), { code: 'KUBE_NOT_FOUND' })
  await assert.rejects(worldOf([[]], gone).read({ follow: true }, deleting()), { code: 'KUBE_NOT_FOUND' })
})

test('ends when the status no longer has the run, as after a suspended computer', async () => {
  const { metadata, ...rest } = resourceOf(true)
  const later = (): Resource => ({ ...rest, metadata, status: { history: [] } })
  assert.equal(await worldOf([[podOf('a', 1)]], later).read({ follow: true }), 'log of a\n')
  await assert.rejects(worldOf([[]], later).read({ follow: true }), /run once of KafkaBackup orders has no pod/)
})

test('leaves out a pod that ended without a log, and follows the one that replaces it', async () => {
  const rejected = { ...podOf('b', 2), status: { phase: 'Failed', reason: 'OutOfcpu' } }
  const { read } = worldOf([[podOf('a', 1)], [podOf('a', 1), rejected], [podOf('a', 1), rejected, podOf('c', 3)], []])
  assert.equal(await read({ follow: true }), 'log of a\nlog of c\n')
})
