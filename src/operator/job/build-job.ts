import type { JobDraft } from './build-pod.ts'
import { buildPodTemplate, containerName } from './build-pod.ts'
import type { Job } from './kube-job.ts'
import { isEndless, jobAnnotations, jobLabels, jobName, ownedMeta } from './names.ts'

const TRIES_AGAIN = 6
/** A continuous backup does not end by itself, so it is retried without limit. */
const FOR_EVER = 2_147_483_647
/** Invalid command line or job file, damage, another writer: no retry can succeed. */
const FINAL_EXIT_CODES = [2, 3, 5]
/**
 * Exit code 5 is not final for these two. A process that uses a backup which is to be deleted ends, or counts as dead
 * after five minutes. For a continuous backup the error code decides (restart-policy.ts).
 */
const FINAL_UNLESS_IN_USE = [2, 3]

/** Pure. Throws CONFIG_INVALID if `podTemplate` conflicts with the operator's own fields. */
export function buildJob(draft: JobDraft): Job {
  const { resource, run, step } = draft
  const { activeDeadlineSeconds } = resource.spec.job ?? {}
  const metadata = ownedMeta(jobName(resource, run, step.stage), draft, jobLabels(draft))
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...metadata, annotations: jobAnnotations(draft) },
    spec: {
      ...completionsOf(draft),
      ...(activeDeadlineSeconds !== undefined && { activeDeadlineSeconds }),
      // Two pods of one index never run at the same time: the next one starts when the last has surely ended.
      podReplacementPolicy: 'Failed',
      podFailurePolicy: {
        rules: [
          {
            action: 'FailJob',
            onExitCodes: {
              containerName,
              operator: 'In',
              values: step.purpose === 'delete' || isEndless(draft) ? FINAL_UNLESS_IN_USE : FINAL_EXIT_CODES,
            },
          },
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
        ],
      },
      template: buildPodTemplate(draft),
    },
  }
}

/**
 * Each shard has the tries of a whole Job: a broker that restarts fails one pod of every shard. One that is out of them
 * ends the Job, as nothing is committed without it.
 */
function completionsOf(draft: JobDraft): Record<string, unknown> {
  const { resource, step } = draft
  const backoffLimit = resource.spec.job?.backoffLimit ?? retriesOf(draft)
  if (step.stage !== 'shards') return { backoffLimit }
  return {
    completionMode: 'Indexed',
    completions: step.shards,
    parallelism: step.shards,
    backoffLimitPerIndex: backoffLimit,
    maxFailedIndexes: 0,
    // Reached first only in clusters without a limit per index.
    backoffLimit: Math.min(FOR_EVER, (backoffLimit + 1) * step.shards),
  }
}

/** A failed validation is a result, and the next one follows soon. */
function retriesOf(draft: JobDraft): number {
  if (draft.controller === 'storage') return 0
  return isEndless(draft) ? FOR_EVER : TRIES_AGAIN
}
