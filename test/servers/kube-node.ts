import { setTimeout as sleep } from 'node:timers/promises'
import type { Kube } from './kube.ts'
import type { KubeApi } from './kube-api.ts'
import { persist } from './kubelet-report.ts'

const leases = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: 'kube-node-lease' }
const RENEW_MS = 1000

/** Makes the object of a node that has reported once that it is ready. */
export async function registerNode(api: KubeApi, name: string): Promise<void> {
  const ref = { apiVersion: 'v1', kind: 'Node', name }
  await api.create({ ...ref, metadata: { name } })
  const now = new Date().toISOString().replace(/\.\d+/, '')
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  }
  await api.patch(ref, { status: { conditions: [ready] } }, { subresource: 'status', type: 'strategic-merge' })
}

/** Renews the lease of a node until the signal, as its kubelet does. */
export async function renewNodeLease(api: KubeApi, name: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const spec = {
      holderIdentity: name,
      leaseDurationSeconds: 40,
      renewTime: `${new Date().toISOString().slice(0, -1)}000Z`,
    }
    await persist(() => api.apply({ ...leases, metadata: { name, namespace: leases.namespace }, spec }))
    await sleep(RENEW_MS, undefined, { signal }).catch(() => undefined)
  }
}

/**
 * The controllers that watch over nodes: one marks a node that has stopped reporting, and its pods, after five seconds instead
 * of 50; one deletes pods from tainted nodes; one removes the pods of nodes that are gone or out of service.
 */
export function watchNodes(kube: Kube): Promise<void> {
  const names = ['node-lifecycle-controller', 'taint-eviction-controller', 'pod-garbage-collector-controller']
  return kube.startControllers(names, ['--node-monitor-period=1s', '--node-monitor-grace-period=5s'])
}
