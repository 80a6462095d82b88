import { containerName } from './build-pod.ts'
import { planArgs } from './job-args.ts'
import type { Job } from './kube-job.ts'
import { type JobIdentity, jobLabels, jobName, ownedMeta } from './names.ts'

/**
 * Pure. The Job that commits shards whose spec has changed since: the Job of the shards with other arguments, so that both have the
 * same job file, secrets and image. The arguments of a commit do not depend on the spec.
 */
export function buildCommit(identity: JobIdentity, shards: Job): Job {
  const { resource, run, step, apiGroup } = identity
  const ofCommit = { [`${apiGroup}/stage`]: step.stage }
  const { template, backoffLimit, backoffLimitPerIndex, ...spec } = shards.spec as unknown as ShardsSpec
  const { metadata = {}, spec: pod } = template
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      ...ownedMeta(jobName(resource, run, step.stage), identity, jobLabels(identity)),
      annotations: { ...shards.metadata.annotations, ...ofCommit },
    },
    spec: {
      ...without(spec, ofIndexedJob),
      backoffLimit: backoffLimitPerIndex ?? backoffLimit,
      template: {
        metadata: {
          labels: without(metadata.labels ?? {}, ofApiServer),
          annotations: { ...metadata.annotations, ...ofCommit },
        },
        spec: { ...pod, containers: pod.containers.map(container => withArgs(container, identity)) },
      },
    },
  }
}

interface ShardsSpec {
  backoffLimit?: number
  backoffLimitPerIndex?: number
  template: {
    metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }
    spec: { containers: Container[] }
  }
}

interface Container {
  name: string
  args?: string[]
}

const ofIndexedJob = [
  ...['completionMode', 'completions', 'parallelism', 'maxFailedIndexes'],
  ...['selector', 'manualSelector', 'suspend'],
]

/** The API server sets them to the Job that the template belongs to. */
const ofApiServer = [
  ...['batch.kubernetes.io/controller-uid', 'batch.kubernetes.io/job-name'],
  ...['controller-uid', 'job-name'],
]

function withArgs(container: Container, { controller, resource, step }: JobIdentity): Container {
  if (container.name !== containerName) return container
  return { ...container, args: planArgs(controller, resource.spec, step) }
}

function without<T>(fields: Record<string, T>, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}
