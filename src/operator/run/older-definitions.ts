import type { ResourceStatus } from '../crd/status.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import { KubeError, undeclaredReason } from '../kube/kube-error.ts'
import { formatResource, type KubeObject } from '../kube/object.ts'
import type { OperatorParts } from './operator-options.ts'
import { openLevels } from './repeated-warnings.ts'

/**
 * Writes a status without `schedules` if the CustomResourceDefinition is of a release without that field: the API server rejects the complete status,
 * and alerts have another time to count from. Other fields are not left out, because plans need them.
 */
export function writeWithOlderDefinitions({ api, log, clock }: Pick<OperatorParts, 'api' | 'log' | 'clock'>): KubeApi {
  const levelOf = openLevels(clock)
  return {
    ...api,
    applyStatus: async (kind, object, how, signal) => {
      try {
        return await api.applyStatus(kind, object, how, signal)
      } catch (error) {
        if (!lacksSchedules(error)) throw error
        const text = `${formatResource(kind)}: the status is written without schedules, because its CustomResourceDefinition is of an earlier release. Upgrade the CustomResourceDefinitions.`
        log.write(levelOf(kind.plural, text), text)
        return api.applyStatus(kind, withoutSchedules(object), how, signal)
      }
    },
  }
}

function lacksSchedules(error: unknown): boolean {
  const causes = error instanceof KubeError ? error.causes : []
  return causes.some(({ reason, field }) => reason === undeclaredReason && field === 'status.schedules')
}

function withoutSchedules<T extends KubeObject>(object: T): T {
  const { schedules: _, ...status } = (object as { status?: ResourceStatus }).status ?? {}
  return { ...object, status }
}
