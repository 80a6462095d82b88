import type * as z from 'zod'
import { KafkaBackupError } from '../errors.ts'
import { describedJobSchema, type JsonSchema } from './job-schema.ts'
import { keysOfMap } from './leaf.ts'
import type { Mode } from './mode.ts'
import { nearMatch, sameName } from './near-match.ts'
import { type FieldPath, formatPath, isMap, type Problem, startsWith, valueAt } from './problem.ts'
import type { YamlFault } from './yaml-source.ts'

/** Where the fields of a job were written, for the reader of a message. */
export interface Origin {
  source: string
  /** The job before `${VAR}`s were replaced: what a message may show, since a variable may hold a secret. */
  written: unknown
  lineOf(path: FieldPath): number | undefined
  overridden: readonly FieldPath[]
}

/** All problems as one error, from the top of the file to its end; of several with one field the first counts. */
export function reportProblems(problems: readonly Problem[], origin: Origin): KafkaBackupError {
  const first = new Map<string, Problem>()
  for (const problem of problems) {
    const path = JSON.stringify(problem.path.map(String))
    if (!first.has(path)) first.set(path, problem)
  }
  const placed = [...first.values()].map(problem => ({ problem, line: lineOf(problem.path, origin) }))
  placed.sort((a, b) => (a.line ?? 0) - (b.line ?? 0))
  const lines = placed.map(
    ({ problem, line }) => `${formatProblem(problem, origin.written)}${formatPlace(problem, line, origin)}`,
  )
  const [top] = placed
  return invalid(origin.source, lines, top && formatPath(top.problem.path))
}

export function reportYamlFaults(faults: readonly YamlFault[], source: string): KafkaBackupError {
  return invalid(
    source,
    faults.map(({ line, column, wrong }) => `line ${line}:${column}: ${wrong}`),
  )
}

/** What zod found, in our words. `tree` is the job that was checked. */
export function toProblems(issues: readonly z.core.$ZodIssue[], tree: unknown, mode: Mode): Problem[] {
  return issues.flatMap(issue => toProblem(issue, tree, mode))
}

function toProblem(issue: z.core.$ZodIssue, tree: unknown, mode: Mode): Problem[] {
  const path = issue.path.map(segment => (typeof segment === 'symbol' ? String(segment) : segment))
  switch (issue.code) {
    case 'custom':
      return [{ ...(issue.params?.problem as Problem), path }]
    case 'unrecognized_keys':
      return issue.keys.map(key => unknownKey([...path, key], keysOfMap(issue), mode))
    case 'invalid_union':
      return unknownVariant(issue, path, tree, mode)
    case 'too_small':
      return [{ path, about: 'field', wrong: 'is an empty list', allowed: 'a list of at least one' }]
    case 'invalid_type':
      return [wrongKind(path, issue, valueAt(tree, path))]
    default:
      return [{ path, about: 'field', wrong: issue.message }]
  }
}

/** A slip of the pen, or a key that belongs elsewhere in the job, or to another kind of the same map. */
function unknownKey(path: FieldPath, known: readonly string[], mode: Mode): Problem {
  const allowed = known.join(', ')
  const near = nearMatch(String(path.at(-1)), known) ?? placeOfKey(path, mode)
  if (near !== formatPath(path)) return { path, about: 'field', wrong: 'is not a known key', allowed, near }
  const kinds = kindsWithKey(describedJobSchema(mode), path).join(' or ')
  return { path, about: 'field', wrong: `is a key of ${kinds === '' ? 'another kind' : kinds} only`, allowed }
}

/** The fields that decide on the kinds of a map that have this key: `backend: filesystem`. */
function kindsWithKey(schema: JsonSchema, path: FieldPath): string[] {
  const [name = '', ...rest] = path.map(String)
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>
  const field = properties[name]
  if (rest.length > 0 && field !== undefined) return kindsWithKey(field, rest)
  const decisive = Object.entries(properties).find(([, { const: value }]) => value !== undefined)
  if (field !== undefined) return decisive ? [`\`${decisive[0]}: ${decisive[1].const}\``] : []
  return variantsOf(schema).flatMap(kind => kindsWithKey(kind, path))
}

function variantsOf(schema: JsonSchema): JsonSchema[] {
  return ['oneOf', 'anyOf'].flatMap(key => (schema[key] ?? []) as JsonSchema[])
}

/** The field that says which kind a map is has another value, or is not there, perhaps for a slip in its name. */
function unknownVariant(issue: z.core.$ZodIssueInvalidUnion, path: FieldPath, tree: unknown, mode: Mode): Problem[] {
  const kinds = 'options' in issue && Array.isArray(issue.options) ? issue.options.map(String) : []
  const allowed = kinds.join(', ')
  const value = valueAt(tree, path)
  if (typeof value === 'string')
    return [{ path, about: 'value', wrong: issue.message, allowed, near: nearMatch(value, kinds) }]
  if (value !== undefined) return [{ path, about: 'value', wrong: 'is not a text', allowed }]
  const parent = valueAt(tree, path.slice(0, -1))
  const name = String(path.at(-1))
  const slip = Object.keys(isMap(parent) ? parent : {}).find(key => nearMatch(key, [name]) !== undefined)
  const missing: Problem = { path, about: 'field', wrong: 'is required', allowed }
  return slip === undefined ? [missing] : [missing, unknownKey([...path.slice(0, -1), slip], [name], mode)]
}

/** A map or list is asked for. The actual value is not shown: it may be a misplaced secret. */
function wrongKind(path: FieldPath, issue: z.core.$ZodIssueInvalidType, value: unknown): Problem {
  const allowed = issue.expected === 'array' ? 'a list' : `a map of ${keysOfMap(issue).join(', ')}`
  if (path.length === 0 && value == null) return { path, about: 'field', wrong: 'is empty', allowed }
  if (value === undefined) return { path, about: 'field', wrong: 'is required', allowed }
  if (value === null) return { path, about: 'field', wrong: 'has no value; fill it or remove the line', allowed }
  const found = Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'a map' : 'a single value'
  return { path, about: 'field', wrong: `is ${found}`, allowed }
}

function formatProblem({ path, about, wrong, or, allowed, near }: Problem, written: unknown): string {
  const subject = about === 'field' ? '' : about === 'hidden' ? 'the value ' : `${formatValue(valueAt(written, path))} `
  const name = path.length === 0 ? 'the job file' : formatPath(path)
  const choice = allowed === undefined ? '' : `; allowed: ${allowed}`
  const other = or === undefined ? '' : ` (or ${or})`
  return `${name}: ${subject}${wrong}${other}${choice}${near === undefined ? '' : ` (did you mean \`${near}\`?)`}`
}

function formatValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value)
  if (Array.isArray(value)) return 'a list'
  return isMap(value) ? 'a map' : String(value)
}

function lineOf(path: FieldPath, origin: Origin): number | undefined {
  return isOverridden(path, origin) ? undefined : origin.lineOf(path)
}

function formatPlace({ path }: Problem, line: number | undefined, origin: Origin): string {
  if (isOverridden(path, origin)) return ' [--set]'
  return line === undefined ? '' : ` [line ${line}]`
}

function isOverridden(path: FieldPath, origin: Origin): boolean {
  return origin.overridden.some(start => startsWith(path, start))
}

function invalid(source: string, lines: readonly string[], field?: string): KafkaBackupError {
  const count = lines.length === 1 ? '1 error' : `${lines.length} errors`
  const message = [`${source}: ${count}`, ...lines.map(line => `  ${line}`)].join('\n')
  return new KafkaBackupError('CONFIG_INVALID', message, { details: { field } })
}

/**
 * Where a key that is unknown at its place belongs: the field whose path ends as it is written, because messages and docs
 * shorten paths (`restore.strategy`), otherwise the shallowest of the same name. Undefined where there is none, or where
 * several lie at the same depth.
 */
function placeOfKey(path: FieldPath, mode: Mode): string | undefined {
  const name = String(path.at(-1))
  const all = listPaths(describedJobSchema(mode), [])
  const ends = `.${formatPath(path)}`
  const longer = path.length > 1 ? all.filter(one => `.${formatPath(one)}`.endsWith(ends)) : []
  const found = longer.length > 0 ? longer : all.filter(one => sameName(one.at(-1) ?? '', name))
  const depth = Math.min(...found.map(({ length }) => length))
  const [place, ...others] = new Set(found.filter(({ length }) => length === depth).map(one => formatPath(one)))
  return others.length === 0 ? place : undefined
}

/** Sections and fields; items of lists are left out, since a path to one needs an index. */
function listPaths(schema: JsonSchema, at: readonly string[]): string[][] {
  const own = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, field]) => {
    const path = [...at, name]
    return [path, ...listPaths(field, path)]
  })
  return [...own, ...variantsOf(schema).flatMap(kind => listPaths(kind, at))]
}
