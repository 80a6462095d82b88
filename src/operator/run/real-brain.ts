import { buildConfigMap, configMapOf } from '../job/build-config-map.ts'
import { buildJob } from '../job/build-job.ts'
import type { JobSettings } from '../job/job-draft.ts'
import { readJobState } from '../job/read-job-state.ts'
import { planResource } from '../plan/plan-resource.ts'
import { planJobPod } from '../resource/plan-job-pod.ts'
import type { Brain } from './brain.ts'

export function realBrain(apiGroup: string, settings: JobSettings): Brain {
  return {
    planResource,
    planJobPod,
    readJobState,
    configMapOf,
    buildObjects: (controller, resource, { run, step, dueMs }, pod) => ({
      configMap: buildConfigMap({ controller, resource, apiGroup }, pod.jobFile),
      job: buildJob({ controller, resource, apiGroup, run, step, dueMs, pod, settings }),
    }),
  }
}
