import { KafkaBackupError } from '../../../src/errors.ts'
import { type Controller, type Resource, type ResourceSpec, resourceKinds } from '../../../src/operator/crd/resource.ts'
import type { JobPod, JobStep } from '../../../src/operator/job/job-pod.ts'
import { planJobPod } from '../../../src/operator/job/plan-job-pod.ts'

export const secret = (key: string) => ({ name: 'credentials', key })

export const pvc = { backend: 'pvc', pvc: { claimName: 'backups' } }

const cluster = { kafkaCluster: { bootstrapServers: ['kafka:9092'] }, storage: pvc }

/** The least that each of the four can say. */
export const minimal: Record<Controller, ResourceSpec> = {
  backup: { ...cluster, topics: { include: ['*'] } },
  restore: { ...cluster, backupId: 'nightly' },
  offset_reset: { ...cluster, groups: ['billing'], strategy: 'earliest' },
  offset_rollback: { ...cluster, snapshotId: '20260131t080000z-1a2b3c4d' },
}

export function makeResource(controller: Controller, spec: Record<string, unknown> = {}): Resource {
  const { apiVersion, kind } = resourceKinds()[controller]
  const metadata = { name: 'nightly', namespace: 'prod', uid: '1' }
  return { apiVersion, kind, metadata, spec: { ...minimal[controller], ...spec } }
}

export const step: JobStep = { purpose: 'main', stage: 'whole', shards: 1, backupId: 'nightly' }

export function planPod(
  controller: Controller,
  spec: Record<string, unknown> = {},
  more: Partial<JobStep> = {},
): JobPod {
  return planJobPod(controller, makeResource(controller, spec), { ...step, ...more })
}

/** The lines of the refusal, without the first, which counts them. */
export function refusalOf(controller: Controller, spec: Record<string, unknown>): string[] {
  try {
    planPod(controller, spec)
  } catch (error) {
    if (error instanceof KafkaBackupError && error.code === 'CONFIG_INVALID') {
      return error.message
        .split('\n')
        .slice(1)
        .map(line => line.trim())
    }
    throw error
  }
  return []
}
