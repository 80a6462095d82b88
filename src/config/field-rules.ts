import { textOf } from '../lib/json.ts'
import { type FieldPath, isMap, type Problem, valueAt } from './problem.ts'

/**
 * A rule between the fields of one section, as data: `checkRules` checks a job file with it, and the operator translates it to
 * CEL for the API server. Fields are named by their keys in the section, or by a path below it: `auth.type`.
 */
export interface FieldRule {
  /**
   * `required`: the field or its alternative must be given, `forbidden`: the field must not, `one`: either the field or its
   * alternative must be given, and not both. All unless the condition holds.
   */
  kind: 'required' | 'forbidden' | 'one'
  field: string
  /** The alternative. */
  or?: string
  unless: Condition
  /** Continues after the name of the field; `{key}` stands for the name of another field. */
  wrong: string
  allowed?: string
}

export type Condition =
  | { has: string }
  /** An empty map. */
  | { empty: string }
  /** One or several URLs, as a list or joined by commas, that are all https. */
  | { https: string }
  /** A boolean that is given as true; given as false. */
  | { on: string }
  | { off: string }
  | { value: string; in: readonly string[] }
  | { value: string; startsWith: string }
  | { any: readonly Condition[] }
  | { all: readonly Condition[] }
  | { not: Condition }

export const has = (field: string): Condition => ({ has: field })
export const empty = (field: string): Condition => ({ empty: field })
export const https = (field: string): Condition => ({ https: field })
export const on = (field: string): Condition => ({ on: field })
export const off = (field: string): Condition => ({ off: field })
export const is = (value: string, ...values: readonly string[]): Condition => ({ value, in: values })
export const not = (condition: Condition): Condition => ({ not: condition })
export const any = (...conditions: readonly Condition[]): Condition => ({ any: conditions })
export const all = (...conditions: readonly Condition[]): Condition => ({ all: conditions })
export const never: Condition = { any: [] }

export function required(field: string, unless: Condition, wrong: string, allowed?: string, or?: string): FieldRule {
  return {
    ...{ kind: 'required', field, unless, wrong },
    ...(allowed !== undefined && { allowed }),
    ...(or !== undefined && { or }),
  }
}

export function forbidden(field: string, unless: Condition, wrong: string, allowed?: string): FieldRule {
  return { kind: 'forbidden', field, unless, wrong, ...(allowed !== undefined && { allowed }) }
}

/** The text continues after `field or`. */
export function exactlyOne(field: string, or: string, unless: Condition, wrong: string): FieldRule {
  return { kind: 'one', field, or, unless, wrong: `or {${or}} ${wrong}` }
}

type Fields = Readonly<Record<string, unknown>>

/** Checks plain data, so these problems are reported together with those inside single fields. */
export function checkRules(rules: readonly FieldRule[], section: Fields, at: FieldPath): Problem[] {
  return rules
    .filter(rule => isBroken(rule, section))
    .map(({ kind, field, or, wrong, allowed }) => ({
      path: [...at, ...field.split('.')],
      about: 'field',
      wrong: fillNames(wrong, key => key),
      allowed,
      ...(kind === 'required' && or !== undefined && { or }),
    }))
}

function isBroken({ kind, field, or, unless }: FieldRule, section: Fields): boolean {
  const [isGiven, isOther] = [isPresent(section, field), or !== undefined && isPresent(section, or)]
  const isFit = kind === 'forbidden' ? !isGiven : kind === 'one' ? isGiven !== isOther : isGiven || isOther
  return !isFit && !holds(unless, section)
}

export function fillNames(text: string, nameOf: (key: string) => string): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, key: string) => nameOf(key))
}

/** Variables give text, so `"true"` counts as true. */
function holds(condition: Condition, section: Fields): boolean {
  if ('has' in condition) return isPresent(section, condition.has)
  if ('empty' in condition) return isEmptyMap(read(section, condition.empty))
  if ('https' in condition) return areHttps(read(section, condition.https))
  if ('on' in condition) return textOf(read(section, condition.on)) === 'true'
  if ('off' in condition) return textOf(read(section, condition.off)) === 'false'
  if ('any' in condition) return condition.any.some(one => holds(one, section))
  if ('all' in condition) return condition.all.every(one => holds(one, section))
  if ('not' in condition) return !holds(condition.not, section)
  const value = textOf(read(section, condition.value))
  return 'in' in condition ? condition.in.includes(value) : value.startsWith(condition.startsWith)
}

function read(section: Fields, field: string): unknown {
  return valueAt(section, field.split('.'))
}

function isPresent(section: Fields, field: string): boolean {
  return read(section, field) !== undefined
}

function isEmptyMap(value: unknown): boolean {
  return isMap(value) && Object.keys(value).length === 0
}

function areHttps(value: unknown): boolean {
  const urls = Array.isArray(value) ? value.map(textOf) : textOf(value).split(',')
  return urls.every(url => /^https:/i.test(url.trim()))
}
