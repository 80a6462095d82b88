import { hasCode } from '../../errors.ts'
import { strimziKafkaKind } from '../job/strimzi.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import { KubeError } from '../kube/kube-error.ts'
import type { ResourceKind } from '../kube/object.ts'

/** What the operator reads is the same in all of them; the newest first. */
const versions = ['v1', 'v1beta2']

/**
 * Lists and watches the Kafka resources of Strimzi in the newest version that the API server serves, whatever version it is asked for. Each list
 * finds out again, because Strimzi may be upgraded, or installed later.
 */
export function readNewestKafkas(api: KubeApi): KubeApi {
  let served: ResourceKind | undefined
  return {
    ...api,
    list: async (_kind, scope, signal) => {
      for (const kind of versions.map(strimziKafkaKind)) {
        try {
          const found = await api.list(kind, scope, signal)
          served = kind
          return found as never
        } catch (error) {
          if (!hasCode(error, 'KUBE_NOT_FOUND')) throw error
        }
      }
      const message = `the API server serves Kafka resources of Strimzi in none of the versions ${versions.join(', ')}`
      throw new KubeError('KUBE_NOT_FOUND', message, { status: 404 })
    },
    watch: (kind, ...more) => api.watch((served ?? kind) as typeof kind, ...more),
  }
}
