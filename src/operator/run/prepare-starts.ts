import { hasCode } from '../../errors.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { Plan, Situation } from '../plan/plan.ts'
import type { JobPod } from '../resource/job-pod.ts'
import type { Brain, StartAction } from './brain.ts'
import { findMissingSecrets } from './secrets.ts'

export interface PreparedPlan {
  plan: Plan
  pods: Map<StartAction, JobPod>
}

/** The plan, made again with what its starts need and lack: a spec that can be run, and secrets that are there. */
export async function prepareStarts(
  situation: Situation,
  api: KubeApi,
  brain: Brain,
  signal: AbortSignal,
): Promise<PreparedPlan> {
  const plan = brain.planResource(situation)
  const pods = new Map<StartAction, JobPod>()
  try {
    for (const start of startsOf(plan)) {
      pods.set(start, brain.planJobPod(situation.controller, situation.resource, start.step))
    }
  } catch (error) {
    if (!hasCode(error, 'CONFIG_INVALID')) throw error
    const problem = { reason: 'InvalidSpec', message: error.message }
    return { plan: brain.planResource({ ...situation, problem }), pods }
  }
  const { namespace } = situation.resource.metadata
  const uses = [...pods.values()].flatMap(({ secrets }) => secrets)
  const missingSecrets = await findMissingSecrets(api, namespace, uses, signal)
  return missingSecrets.length === 0
    ? { plan, pods }
    : { plan: brain.planResource({ ...situation, missingSecrets }), pods }
}

export function startsOf({ actions }: Plan): StartAction[] {
  return actions.filter(action => action.type === 'start')
}
