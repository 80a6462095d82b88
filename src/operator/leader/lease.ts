import { formatMicroTime } from '../kube/micro-time.ts'
import type { KubeObject, ObjectRef } from '../kube/object.ts'
import type { ResourceKind } from '../kube/resource-kind.ts'

export interface Lease extends KubeObject {
  spec?: LeaseSpec
}

export interface LeaseSpec {
  /** Empty or missing when it is free. */
  holderIdentity?: string
  leaseDurationSeconds?: number
  acquireTime?: string
  renewTime?: string
  leaseTransitions?: number
}

export const leaseKind: ResourceKind<Lease> = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' }

export function newLease({ namespace, name }: ObjectRef, identity: string, leaseMs: number, nowMs: number): Lease {
  return {
    apiVersion: leaseKind.apiVersion,
    kind: leaseKind.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec: { ...heldBy(identity, leaseMs, nowMs), leaseTransitions: 0 },
  }
}

/** The same lease taken over by the identity, or renewed where it is its own. */
export function takeLease(lease: Lease, identity: string, leaseMs: number, nowMs: number): Lease {
  const spec = lease.spec ?? {}
  const taken = heldBy(identity, leaseMs, nowMs)
  const { leaseTransitions = 0 } = spec
  if (spec.holderIdentity === identity) {
    const { acquireTime = taken.acquireTime } = spec
    return { ...lease, spec: { ...spec, ...taken, acquireTime } }
  }
  return { ...lease, spec: { ...spec, ...taken, leaseTransitions: leaseTransitions + 1 } }
}

/** Free for whoever looks next. */
export function freeLease(lease: Lease, nowMs: number): Lease {
  const free = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: formatMicroTime(nowMs) }
  return { ...lease, spec: { ...lease.spec, ...free } }
}

function heldBy(holderIdentity: string, leaseMs: number, nowMs: number) {
  const time = formatMicroTime(nowMs)
  return { holderIdentity, leaseDurationSeconds: Math.ceil(leaseMs / 1000), acquireTime: time, renewTime: time }
}
