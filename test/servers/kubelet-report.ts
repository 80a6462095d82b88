import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeApi } from './kube-api.ts'
import { KubeError } from './kube-connection.ts'
import { refOf } from './kube-object.ts'
import { formatTime } from './kubelet-container.ts'
import type { Pod } from './kubelet-pod-spec.ts'
import { formatPodStatus, type PodRecord } from './kubelet-status.ts'

export interface PodReport {
  /** Says that the record is not what it was; the newest state is written, one write at a time. */
  changed(): void
  /** Resolves when the newest state is written. */
  settled(): Promise<void>
  /** Nothing is written any more. */
  close(): void
}

const attempts = 50
const retryMs = 100

/** Writes the pod's status as it changes. A pod that is gone needs none. */
export function openPodReport(pod: Pod, record: PodRecord, api: KubeApi): PodReport {
  let current = pod
  let isStale = false
  let isClosed = false
  let writing: Promise<void> | undefined
  const write = async () => {
    do {
      isStale = false
      const status = formatPodStatus(current, record, formatTime())
      // With the uid, a later pod of the same name is refused and not overwritten.
      const patch = { metadata: { uid: pod.metadata.uid }, status }
      current = (await persist(() => api.patch<Pod>(refOf(pod), patch, { subresource: 'status' }))) ?? current
    } while (isStale && !isClosed)
    writing = undefined
  }
  return {
    changed: () => {
      if (isClosed) return
      isStale = true
      writing ??= write()
    },
    settled: async () => {
      while (writing !== undefined) await writing
    },
    close: () => {
      isClosed = true
    },
  }
}

/** Tries for some seconds while the server cannot answer; undefined when it refuses. */
export async function persist<T>(act: () => Promise<T>): Promise<T | undefined> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    try {
      return await act()
    } catch (error) {
      if (error instanceof KubeError && error.status < 500 && error.status !== 429) return undefined
      await sleep(retryMs, undefined, { ref: false })
    }
  }
  return undefined
}
