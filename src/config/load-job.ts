import { readFile } from 'node:fs/promises'
import { KafkaBackupError } from '../errors.ts'
import { checkEncryptionRules, encryptionSchema } from './encryption-schema.ts'
import type { ClusterlessJobOf, Job, JobOf } from './job-schema.ts'
import { fields } from './leaf.ts'
import type { Mode } from './mode.ts'
import type { FieldPath, Problem } from './problem.ts'
import { reportProblems, reportYamlFaults, toProblems } from './report.ts'
import {
  type GivenJob,
  type GivenOptions,
  type JobOptions,
  type Sourced,
  validateClusterlessJob,
  validateJob,
} from './validate-job.ts'
import { parseYaml } from './yaml-source.ts'

export type {
  BackupJob,
  ClusterlessJob,
  ClusterlessJobDocuments,
  ClusterlessJobOf,
  Job,
  JobDocuments,
  JobOf,
  RestoreJob,
  SchemaBackupJob,
  SchemaRestoreJob,
} from './job-schema.ts'
export type { JobOptions } from './validate-job.ts'

/** Reads a job file. Fails with CONFIG_UNREADABLE or, naming all that is wrong at once, CONFIG_INVALID. */
export async function loadJob<M extends Mode = Mode>(path: string, options: JobOptions<M>): Promise<JobOf<M>> {
  return parseJob(await readText(path), { source: path, ...options })
}

/** The job in a YAML text. */
export function parseJob<M extends Mode = Mode>(text: string, options: JobOptions<M> & Sourced): JobOf<M> {
  return validateJob(parseTree(text, options), options)
}

/** Reads a job file for a command that does not contact Kafka: it may lack `source` or `target`. */
export async function loadClusterlessJob<M extends Mode = Mode>(
  path: string,
  options: JobOptions<M>,
): Promise<ClusterlessJobOf<M>> {
  return parseClusterlessJob(await readText(path), { source: path, ...options })
}

/** The same for a YAML text. */
export function parseClusterlessJob<M extends Mode = Mode>(
  text: string,
  options: JobOptions<M> & Sourced,
): ClusterlessJobOf<M> {
  return validateClusterlessJob(parseTree(text, options), options)
}

/** The job that a program has written as an object. Its texts are taken as they are where there is no `env`. */
export function readJob<M extends Mode = Mode>(document: unknown, options: GivenOptions<M>): JobOf<M> {
  return validateJob(treeOf(document), options)
}

/** The same for commands that need no cluster. */
export function readClusterlessJob<M extends Mode = Mode>(
  document: unknown,
  options: GivenOptions<M>,
): ClusterlessJobOf<M> {
  return validateClusterlessJob(treeOf(document), options)
}

/** The `encryption` of a job that a program has written as an object, without the rest of the job. */
export function readEncryption(encryption: unknown, { source }: Sourced): NonNullable<Job['encryption']> {
  const { tree, lineOf, ...given } = treeOf({ encryption })
  const checked = encryptionOnly.safeParse(tree)
  const found = [...checkEncryptionRules(tree), ...toProblems(checked.error?.issues ?? [], tree, 'restore')]
  const problems = [...given.problems, ...found]
  if (checked.data && problems.length === 0) return checked.data.encryption
  throw reportProblems(problems, { source, written: tree, lineOf, overridden: [] })
}

const encryptionOnly = fields({ encryption: encryptionSchema })

function treeOf(document: unknown): GivenJob {
  return { ...copyPlain(document), lineOf: () => undefined }
}

function parseTree(text: string, { source }: Sourced): GivenJob {
  const yaml = parseYaml(text)
  if ('faults' in yaml) throw reportYamlFaults(yaml.faults, source)
  return { ...yaml, problems: [] }
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

/**
 * A copy of the plain data in a program's object, with anything that is not data reported as a problem: a `Map` or an instance of a
 * class has no keys that a check could see, and would pass for an empty map. Keys without a value (`undefined`) are left
 * out, as in JSON.
 */
function copyPlain(document: unknown): { tree: unknown; problems: Problem[] } {
  const problems: Problem[] = []
  return { tree: copy(document, [], []), problems }

  function copy(value: unknown, path: FieldPath, above: readonly unknown[]): unknown {
    if (typeof value === 'function' || typeof value === 'symbol') return refuse(path, `is a ${typeof value}`)
    if (typeof value !== 'object' || value === null) return value
    if (above.includes(value)) return refuse(path, 'holds itself')
    const inside = [...above, value]
    if (Array.isArray(value)) return value.map((item, index) => copy(item, [...path, index], inside))
    if (!isPlain(value)) return refuse(path, `is an instance of ${value.constructor?.name ?? 'a class'}`)
    const entries = Object.entries(value).filter(([, item]) => item !== undefined)
    return Object.fromEntries(entries.map(([key, item]) => [key, copy(item, [...path, key], inside)]))
  }

  function refuse(path: FieldPath, wrong: string): undefined {
    const allowed = 'texts, numbers, booleans, lists and plain objects'
    problems.push({ path, about: 'field', wrong, allowed })
    return undefined
  }
}

/** Of this or another realm. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
