import { type Environment, interpolate } from './interpolate.ts'
import { checkJobRules } from './job-rules.ts'
import {
  type ClusterlessJob,
  type ClusterlessJobOf,
  clusterlessJobSchemas,
  type JobOf,
  jobSchemas,
} from './job-schema.ts'
import { type Mode, modeOf, modes, refuseMode } from './mode.ts'
import { applyOverrides, type Overridden, wrapAt } from './override.ts'
import { type FieldPath, isSamePath, type Problem, valueAt } from './problem.ts'
import { type Origin, reportProblems, toProblems } from './report.ts'
import type { YamlSource } from './yaml-source.ts'

export interface JobOptions<M extends Mode = Mode> {
  /** What `${VAR}` refers to. */
  env: Environment
  /** `path=value` texts of `--set`, applied before variables are replaced. */
  set?: readonly string[] | undefined
  /** The mode that the caller can run; a job of another one is refused. Without it jobs of all modes are taken. */
  mode?: M
}

export interface Sourced {
  /** What messages call the place that the job came from. */
  source: string
}

/** The job in the data of a file or a program. Names all that is wrong at once, in one CONFIG_INVALID error. */
export function validateJob<M extends Mode>(given: GivenJob, options: GivenOptions<M>): JobOf<M> {
  return validateBy(jobSchemas, given, options) as JobOf<M>
}

/** The same for commands that need no cluster. */
export function validateClusterlessJob<M extends Mode>(given: GivenJob, options: GivenOptions<M>): ClusterlessJobOf<M> {
  return validateBy(clusterlessJobSchemas, given, options) as ClusterlessJobOf<M>
}

export type GivenJob = YamlSource & { problems: readonly Problem[] }
export type GivenOptions<M extends Mode> = Omit<JobOptions<M>, 'env'> & { env?: Environment } & Sourced
type Schemas = typeof jobSchemas | typeof clusterlessJobSchemas

function validateBy(schemas: Schemas, given: GivenJob, options: GivenOptions<Mode>): ClusterlessJob {
  const overridden = withLists(schemas, applyOverrides(given.tree, options.set ?? []))
  const { tree, problems: unset } = options.env
    ? interpolate(overridden.tree, options.env)
    : { tree: overridden.tree, problems: [] }
  const mode = modeOf(tree)
  const { job, problems: found } = checkTree(schemas, tree, mode)
  const problems = [...given.problems, ...overridden.problems, ...unset, ...checkExpected(tree, options.mode), ...found]
  if (job !== undefined && problems.length === 0) return job
  const origin: Origin = {
    source: options.source,
    written: overridden.tree,
    lineOf: given.lineOf,
    overridden: overridden.paths,
  }
  throw reportProblems(problems, origin)
}

/** On a command line a single value stands for a list of one: `--set source.topics.include=orders`. */
function withLists(schemas: Schemas, overridden: Overridden): Overridden {
  if (overridden.paths.length === 0) return overridden
  const { problems } = checkTree(schemas, overridden.tree, modeOf(overridden.tree))
  const isSingle = (path: FieldPath) =>
    problems.some(problem => problem.wantsList && isSamePath(problem.path, path)) &&
    typeof valueAt(overridden.tree, path) === 'string'
  return { ...overridden, tree: overridden.paths.filter(isSingle).reduce(wrapAt, overridden.tree) }
}

/** All that is wrong with a job of that mode, for a caller that has other names for its fields. */
export function findJobProblems(
  written: unknown,
  options: { env: Environment; mode: Mode; isClusterless?: boolean },
): Problem[] {
  const { tree, problems } = interpolate(written, options.env)
  const schemas = options.isClusterless ? clusterlessJobSchemas : jobSchemas
  return [...problems, ...checkTree(schemas, tree, options.mode).problems]
}

function checkTree(
  schemas: Schemas,
  tree: unknown,
  mode: Mode,
): { job: ClusterlessJob | undefined; problems: Problem[] } {
  const checked = schemas[mode].safeParse(tree)
  // Rules before single fields: only the first problem of a field is reported, and theirs has the advice.
  const problems = [...checkJobRules(tree, mode), ...toProblems(checked.error?.issues ?? [], tree, mode)]
  return { job: checked.data, problems }
}

function checkExpected(tree: unknown, expected: Mode | undefined): Problem[] {
  const mode = modes.find(one => one === valueAt(tree, ['mode']))
  return mode === undefined || expected === undefined || mode === expected ? [] : [refuseMode(mode, expected)]
}
