import { hasCode } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import { formatMicroTime, type KubeObject, type ObjectRef, type ResourceKind } from '../kube/object.ts'

interface ClaimOptions {
  api: KubeApi
  clock: Clock
  lease: ObjectRef
  identity: string
  leaseMs: number
}

/**
 * One candidate's view of the lease. Only the local clock decides whether another holder's lease has expired: it measures how
 * long the lease has not changed. The times in the lease are informational, because clocks differ.
 */
export class LeaseClaim {
  readonly #options: ClaimOptions
  /** A write was sent: without a response it may still have succeeded. */
  #mayHold = false
  #seen: { lease: Lease; sinceMs: number } | undefined

  constructor(options: ClaimOptions) {
    this.#options = options
  }

  /** The holder as last seen; empty when it is free. */
  get holder(): string {
    return this.#seen?.lease.spec?.holderIdentity ?? ''
  }

  /**
   * Takes or renews the lease where it may. True when it is held now; false when another holds it. Rejects when the
   * server could not be asked, after which nothing is known.
   */
  async claim(signal: AbortSignal): Promise<boolean> {
    const { identity } = this.#options
    // The holder renews without reading first: the resource version detects a write in between.
    if (this.holder === identity && (await this.#write(signal))) return true
    const lease = await this.#read(signal)
    if (lease === undefined) return this.#create(signal)
    this.#see(lease)
    return this.#mayTake() && this.#write(signal)
  }

  /** Releases the lease if it is held, also after a write without a response. */
  async release(signal: AbortSignal): Promise<void> {
    const { api, clock, identity } = this.#options
    if (!this.#mayHold) return
    const lease = await this.#read(signal)
    this.#seen = undefined
    if (lease?.spec?.holderIdentity !== identity) return
    await api.replace(leaseKind, freeLease(lease, clock.now()), signal)
  }

  #mayTake(): boolean {
    const { clock, identity, leaseMs } = this.#options
    if (this.#seen === undefined) return false
    const { lease, sinceMs } = this.#seen
    if (this.holder === '' || this.holder === identity) return true
    const statedMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000
    return clock.monotonic() - sinceMs >= Math.max(leaseMs, statedMs)
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const { api, lease } = this.#options
    try {
      return await api.get(leaseKind, lease, signal)
    } catch (error) {
      if (hasCode(error, 'KUBE_NOT_FOUND')) return undefined
      throw error
    }
  }

  async #create(signal: AbortSignal): Promise<boolean> {
    const { api, clock, lease, identity, leaseMs } = this.#options
    this.#mayHold = true
    try {
      this.#see(await api.create(leaseKind, newLease(lease, identity, leaseMs, clock.now()), signal))
      return true
    } catch (error) {
      if (hasCode(error, 'KUBE_EXISTS')) return false
      throw error
    }
  }

  /** False if another candidate wrote first. */
  async #write(signal: AbortSignal): Promise<boolean> {
    const { api, clock, identity, leaseMs } = this.#options
    if (this.#seen === undefined) return false
    this.#mayHold = true
    try {
      this.#see(await api.replace(leaseKind, takeLease(this.#seen.lease, identity, leaseMs, clock.now()), signal))
      return true
    } catch (error) {
      if (hasCode(error, 'KUBE_CONFLICT', 'KUBE_NOT_FOUND')) return false
      throw error
    }
  }

  #see(lease: Lease): void {
    const { resourceVersion, uid } = this.#seen?.lease.metadata ?? {}
    const isSame = resourceVersion === lease.metadata.resourceVersion && uid === lease.metadata.uid
    const sinceMs = this.#seen !== undefined && isSame ? this.#seen.sinceMs : this.#options.clock.monotonic()
    this.#seen = { lease, sinceMs }
  }
}

export interface Lease extends KubeObject {
  spec?: LeaseSpec
}

interface LeaseSpec {
  /** Empty or missing when it is free. */
  holderIdentity?: string
  leaseDurationSeconds?: number
  acquireTime?: string
  renewTime?: string
  leaseTransitions?: number
}

export const leaseKind: ResourceKind<Lease> = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' }

function newLease({ namespace, name }: ObjectRef, identity: string, leaseMs: number, nowMs: number): Lease {
  return {
    apiVersion: leaseKind.apiVersion,
    kind: leaseKind.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec: { ...heldBy(identity, leaseMs, nowMs), leaseTransitions: 0 },
  }
}

/** The same lease taken over by the identity, or renewed where it is its own. */
function takeLease(lease: Lease, identity: string, leaseMs: number, nowMs: number): Lease {
  const spec = lease.spec ?? {}
  const taken = heldBy(identity, leaseMs, nowMs)
  const { leaseTransitions = 0 } = spec
  if (spec.holderIdentity === identity) {
    const { acquireTime = taken.acquireTime } = spec
    return { ...lease, spec: { ...spec, ...taken, acquireTime } }
  }
  return { ...lease, spec: { ...spec, ...taken, leaseTransitions: leaseTransitions + 1 } }
}

/** Free for the next candidate. */
function freeLease(lease: Lease, nowMs: number): Lease {
  const free = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: formatMicroTime(nowMs) }
  return { ...lease, spec: { ...lease.spec, ...free } }
}

function heldBy(holderIdentity: string, leaseMs: number, nowMs: number) {
  const time = formatMicroTime(nowMs)
  return { holderIdentity, leaseDurationSeconds: Math.ceil(leaseMs / 1000), acquireTime: time, renewTime: time }
}
