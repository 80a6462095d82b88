import { readFile } from 'node:fs/promises'
import { KafkaBackupError } from '../errors.ts'
import { type Environment, interpolate } from './interpolate.ts'
import { type Job, jobSchema } from './job-schema.ts'
import { applyOverrides } from './override.ts'
import { checkRegistryRules } from './registry-rules.ts'
import { type Origin, reportProblems, reportYamlFaults, toProblems } from './report.ts'
import { checkS3Rules } from './s3-rules.ts'
import { checkSecurityRules } from './security-rules.ts'
import { parseYaml } from './yaml-source.ts'

export type { Job } from './job-schema.ts'

export interface JobOptions {
  /** What `${VAR}` refers to. */
  env: Environment
  /** `path=value` texts of `--set`, applied before variables are replaced. */
  set?: readonly string[] | undefined
}

/** Reads a job file. Fails with CONFIG_UNREADABLE or, naming all that is wrong at once, CONFIG_INVALID. */
export async function loadJob(path: string, options: JobOptions): Promise<Job> {
  return parseJob(await readText(path), { source: path, ...options })
}

/** The job in a YAML text; `source` is what messages call the text. */
export function parseJob(text: string, options: JobOptions & { source: string }): Job {
  const yaml = parseYaml(text)
  if ('faults' in yaml) throw reportYamlFaults(yaml.faults, options.source)
  const overridden = applyOverrides(yaml.tree, options.set ?? [])
  const { tree, problems: unset } = interpolate(overridden.tree, options.env)
  const checked = jobSchema.safeParse(tree)
  const found = toProblems(checked.error?.issues ?? [], tree)
  // Rules first: of several problems with one field the first is told, and theirs has the advice.
  const rules = [
    ...checkSecurityRules(tree, ['source', 'security']),
    ...checkRegistryRules(tree),
    ...checkS3Rules(tree),
  ]
  const problems = [...overridden.problems, ...unset, ...rules, ...found]
  if (checked.success && problems.length === 0) return checked.data
  const origin: Origin = {
    source: options.source,
    written: overridden.tree,
    lineOf: yaml.lineOf,
    overridden: overridden.paths,
  }
  throw reportProblems(problems, origin)
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
