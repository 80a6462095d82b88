import { readFile } from 'node:fs/promises'
import { KafkaBackupError } from '../errors.ts'
import type { JobOf } from './job-schema.ts'
import type { Mode } from './mode.ts'
import { copyPlain } from './plain.ts'
import { reportYamlFaults } from './report.ts'
import { type JobOptions, type Sourced, validateJob } from './validate-job.ts'
import { parseYaml } from './yaml-source.ts'

export type { BackupJob, Job, JobDocuments, JobOf, RestoreJob } from './job-schema.ts'
export type { JobOptions } from './validate-job.ts'

/** Reads a job file. Fails with CONFIG_UNREADABLE or, naming all that is wrong at once, CONFIG_INVALID. */
export async function loadJob<M extends Mode = Mode>(path: string, options: JobOptions<M>): Promise<JobOf<M>> {
  return parseJob(await readText(path), { source: path, ...options })
}

/** The job in a YAML text. */
export function parseJob<M extends Mode = Mode>(text: string, options: JobOptions<M> & Sourced): JobOf<M> {
  const yaml = parseYaml(text)
  if ('faults' in yaml) throw reportYamlFaults(yaml.faults, options.source)
  return validateJob({ ...yaml, problems: [] }, options)
}

/** The job that a program has written as an object. Its texts are taken as they are where there is no `env`. */
export function readJob<M extends Mode = Mode>(
  document: unknown,
  options: Omit<JobOptions<M>, 'env'> & Partial<Pick<JobOptions, 'env'>> & Sourced,
): JobOf<M> {
  return validateJob({ ...copyPlain(document), lineOf: () => undefined }, options)
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
