import { stringify } from 'yaml'
import type { FieldPath, Problem } from '../../config/problem.ts'
import { reportProblems } from '../../config/report.ts'
import { findJobProblems } from '../../config/validate-job.ts'
import { layoutOf, specPathOf } from '../crd/layout.ts'
import { checkOffsetFields } from '../crd/offset-fields.ts'
import type { AnyController, Resource } from '../crd/resource.ts'
import { inSpecWords } from '../crd/spec-words.ts'
import { planArgs } from './job-args.ts'
import { needsCluster, writeDocument } from './job-document.ts'
import { JobNeeds } from './job-needs.ts'
import type { JobPod, JobStep } from './job-pod.ts'
import { checkReferences, type References } from './references.ts'

/**
 * What a pod needs to do a step of a run. Throws CONFIG_INVALID, which names all that is wrong with the resource at once,
 * by the fields of its spec.
 */
export function planJobPod(
  controller: AnyController,
  resource: Resource,
  step: JobStep,
  references: References = {},
): JobPod {
  const needs = new JobNeeds()
  const document = writeDocument(controller, resource, step, needs, references)
  const problems = [
    ...checkReferences(resource.spec),
    ...checkOffsetFields(controller, resource.spec),
    ...checkDocument({ controller, resource, step }, document, needs),
  ]
  if (problems.length > 0) throw refuse(problems, resource, step)
  return {
    args: planArgs(controller, resource.spec, step),
    jobFile: formatJobFile(document, resource),
    env: needs.env,
    volumes: needs.volumes(),
    mounts: needs.mounts(),
    secrets: needs.secrets,
  }
}

/** The check that the pod makes when it starts, but for what the values of secrets are. */
function checkDocument({ controller, resource, step }: PodRequest, document: unknown, needs: JobNeeds): Problem[] {
  const isDrill = step.purpose === 'drill'
  const layout = layoutOf(isDrill ? 'restore' : controller)
  const env = Object.fromEntries(needs.env.map(({ name }) => [name, 'a secret']))
  const isClusterless = !needsCluster(controller, step)
  const found = findJobProblems(document, { env: { POD_IP: '127.0.0.1', ...env }, mode: layout.mode, isClusterless })
  return found
    .filter(({ about, path }) => about === 'field' || !needs.isVariable(path))
    .map(problem => {
      const path = specPathOf(layout, problem.path, resource)
      return inSpec(problem, isDrill ? drillPathOf(path) : path)
    })
}

interface PodRequest {
  controller: AnyController
  resource: Resource
  step: JobStep
}

/** The cluster and the settings of the restore are those of `spec.drill`. */
function drillPathOf(path: FieldPath): FieldPath {
  const [spec = 'spec', name, ...rest] = path
  return name === 'kafkaCluster' || name === 'restore' ? [spec, 'drill', name, ...rest] : path
}

function inSpec({ wrong, allowed, near, or, ...problem }: Problem, path: FieldPath): Problem {
  const name = String(path.at(-1))
  const isRef = /(Secret|ConfigMap)$/.test(name)
  return {
    ...problem,
    path,
    wrong: inSpecWords(wrong),
    // A resource may have one field for both.
    or: or === undefined || inSpecWords(or) === name ? undefined : inSpecWords(or),
    allowed: isRef ? 'name and key of a secret' : allowed && inSpecWords(allowed),
    near: near && inSpecWords(near),
  }
}

function refuse(problems: readonly Problem[], { kind, metadata, spec }: Resource, step: JobStep) {
  const source = `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`
  const written = { spec: { ...spec, backupId: spec.backupId ?? step.backupId } }
  return reportProblems(problems, { source, written, lineOf: () => undefined, overridden: [] })
}

function formatJobFile(document: unknown, { kind, metadata }: Resource): string {
  const text = stringify(document, { version: '1.2', schema: 'core', lineWidth: 0, aliasDuplicateObjects: false })
  return `# Made by the operator for ${kind} ${metadata.name}.\n${text}`
}
