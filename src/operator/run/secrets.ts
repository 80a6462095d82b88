import { hasCode } from '../../errors.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { ObjectRef } from '../kube/object.ts'
import type { ResourceKind } from '../kube/resource-kind.ts'
import type { MissingSecret } from '../plan/plan.ts'
import type { SecretUse } from '../resource/job-pod.ts'

const secretKind: ResourceKind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }

/** Those of the secrets that are not there. What is in them is never asked for. */
export async function findMissingSecrets(
  api: KubeApi,
  namespace: string | undefined,
  uses: readonly SecretUse[],
  signal: AbortSignal,
): Promise<MissingSecret[]> {
  const missing: MissingSecret[] = []
  for (const name of new Set(uses.map(use => use.name))) {
    if (!(await isSecretMissing(api, { namespace, name }, signal))) continue
    const fields = new Set(uses.filter(use => use.name === name).map(use => use.field))
    missing.push(...[...fields].map(field => ({ name, field })))
  }
  return missing
}

export async function isSecretMissing(api: KubeApi, ref: ObjectRef, signal: AbortSignal): Promise<boolean> {
  try {
    await api.getMetadata(secretKind, ref, signal)
    return false
  } catch (error) {
    if (hasCode(error, 'KUBE_NOT_FOUND')) return true
    throw error
  }
}
