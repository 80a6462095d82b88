import { hasCode } from '../../errors.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { Plan, Situation } from '../plan/plan.ts'
import type { JobPod, SecretUse } from '../resource/job-pod.ts'
import type { Brain, StartAction, StepObjects } from './brain.ts'
import type { Problem } from './resource-memory.ts'
import { findMissingSecrets } from './secrets.ts'
import { refusalOf } from './start-job.ts'

export interface PreparedPlan {
  plan: Plan
  /** What each start makes. */
  objects: Map<StartAction, StepObjects>
}

/** The plan, made again with what its starts need and lack: a spec that can be run, and secrets that are there. */
export async function prepareStarts(
  situation: Situation,
  api: KubeApi,
  brain: Brain,
  signal: AbortSignal,
): Promise<PreparedPlan> {
  const plan = brain.planResource(situation)
  const built = buildStarts(plan, situation, brain)
  if ('problem' in built) return planned(brain, { ...situation, problem: built.problem })
  const { namespace } = situation.resource.metadata
  const missingSecrets = await findMissingSecrets(api, namespace, built.secrets, signal).catch(error => {
    throw refusalOf(error)
  })
  if (missingSecrets.length > 0) return planned(brain, { ...situation, missingSecrets })
  return { plan, objects: built.objects }
}

export function startsOf({ actions }: Plan): StartAction[] {
  return actions.filter(action => action.type === 'start')
}

/** Why the spec cannot be run, where it cannot; what is wrong with the program itself is thrown. */
export function problemOf(plan: () => unknown): Problem | undefined {
  try {
    plan()
    return undefined
  } catch (error) {
    if (!hasCode(error, 'CONFIG_INVALID')) throw error
    return { reason: 'InvalidSpec', message: error.message }
  }
}

function planned(brain: Brain, situation: Situation): PreparedPlan {
  return { plan: brain.planResource(situation), objects: new Map() }
}

type Built = { problem: Problem } | { objects: PreparedPlan['objects']; secrets: SecretUse[] }

function buildStarts(plan: Plan, { controller, resource }: Situation, brain: Brain): Built {
  const objects: PreparedPlan['objects'] = new Map()
  const pods: JobPod[] = []
  const problem = problemOf(() => {
    for (const start of startsOf(plan)) {
      const pod = brain.planJobPod(controller, resource, start.step)
      objects.set(start, brain.buildObjects(controller, resource, start, pod))
      pods.push(pod)
    }
  })
  return problem === undefined ? { objects, secrets: pods.flatMap(({ secrets }) => secrets) } : { problem }
}
