import type { AnyController, Resource, ResourceSpec } from '../../../src/operator/crd/resource.ts'
import { apiVersionName, resourceKinds } from '../../../src/operator/crd/resource.ts'
import type { EndedRun, ResourceStatus } from '../../../src/operator/crd/status.ts'

const group = 'kafka-backup.dev'

export interface Sample {
  controller?: AnyController
  name?: string
  namespace?: string
  uid?: string
  createdAt?: string
  spec?: ResourceSpec
  status?: ResourceStatus
}

export function sampleResource(sample: Sample = {}): Resource {
  const { controller = 'backup', name = 'orders', namespace = 'shop', spec = {}, status } = sample
  return {
    apiVersion: `${group}/${apiVersionName}`,
    kind: resourceKinds(group)[controller].kind,
    metadata: {
      name,
      namespace,
      uid: sample.uid ?? `uid-of-${controller}-${namespace}-${name}`,
      creationTimestamp: sample.createdAt ?? '2025-11-01T00:00:00Z',
    },
    spec,
    ...(status && { status }),
  }
}

export function endedRun(run: Partial<EndedRun> = {}): EndedRun {
  return {
    run: 'once',
    purpose: 'main',
    job: 'orders-0123456789',
    startTime: '2025-11-15T09:00:00Z',
    phase: 'Completed',
    completionTime: '2025-11-15T09:10:00Z',
    ...run,
  }
}
