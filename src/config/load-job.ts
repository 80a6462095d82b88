import { readFile } from 'node:fs/promises'
import { KafkaBackupError } from '../errors.ts'
import { type Environment, interpolate } from './interpolate.ts'
import { checkJobRules } from './job-rules.ts'
import { type JobOf, jobSchemas } from './job-schema.ts'
import { type Mode, modeOf, modes } from './mode.ts'
import { refuseMode } from './mode-rules.ts'
import { applyOverrides } from './override.ts'
import { type Problem, valueAt } from './problem.ts'
import { type Origin, reportProblems, reportYamlFaults, toProblems } from './report.ts'
import { parseYaml } from './yaml-source.ts'

export type { BackupJob, Job, RestoreJob } from './job-schema.ts'

export interface JobOptions<M extends Mode = Mode> {
  /** What `${VAR}` refers to. */
  env: Environment
  /** `path=value` texts of `--set`, applied before variables are replaced. */
  set?: readonly string[] | undefined
  /** The mode that the caller can run; a job of another one is refused. Without it jobs of all modes are taken. */
  mode?: M
}

/** Reads a job file. Fails with CONFIG_UNREADABLE or, naming all that is wrong at once, CONFIG_INVALID. */
export async function loadJob<M extends Mode = Mode>(path: string, options: JobOptions<M>): Promise<JobOf<M>> {
  return parseJob(await readText(path), { source: path, ...options })
}

/** The job in a YAML text; `source` is what messages call the text. */
export function parseJob<M extends Mode = Mode>(text: string, options: JobOptions<M> & { source: string }): JobOf<M> {
  const yaml = parseYaml(text)
  if ('faults' in yaml) throw reportYamlFaults(yaml.faults, options.source)
  const overridden = applyOverrides(yaml.tree, options.set ?? [])
  const { tree, problems: unset } = interpolate(overridden.tree, options.env)
  const mode = modeOf(tree)
  const checked = jobSchemas[mode].safeParse(tree)
  // Rules before single fields: of several problems with one field the first is told, and theirs has the advice.
  const problems = [
    ...overridden.problems,
    ...unset,
    ...checkExpected(tree, options.mode),
    ...checkJobRules(tree, mode),
    ...toProblems(checked.error?.issues ?? [], tree),
  ]
  if (checked.success && problems.length === 0) return checked.data as JobOf<M>
  const origin: Origin = {
    source: options.source,
    written: overridden.tree,
    lineOf: yaml.lineOf,
    overridden: overridden.paths,
  }
  throw reportProblems(problems, origin)
}

function checkExpected(tree: unknown, expected: Mode | undefined): Problem[] {
  const mode = modes.find(one => one === valueAt(tree, ['mode']))
  return mode === undefined || expected === undefined || mode === expected ? [] : [refuseMode(mode, expected)]
}

async function readText(path: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (cause) {
    throw new KafkaBackupError('CONFIG_UNREADABLE', `${path}: ${explain(cause)}`, { cause })
  }
}

function explain(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ENOENT') return 'there is no such job file'
  if (code === 'EISDIR') return 'this is a folder, not a job file'
  if (code === 'EACCES' || code === 'EPERM') return 'the job file may not be read by this user'
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'the job file is not UTF-8 text'
  return `the job file cannot be read (${String(code ?? 'unknown')})`
}
