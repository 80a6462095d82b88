import { textOf } from '../lib/json.ts'
import type { FieldPath, Problem } from './problem.ts'

/**
 * A rule between the fields of one section, as data: `checkRules` checks a job file with it, and the operator translates it to
 * CEL for the API server. Fields are named by their keys in the section.
 */
export interface FieldRule {
  /** `required`: the field must be given, `forbidden`: it must not, unless the condition holds. */
  kind: 'required' | 'forbidden'
  field: string
  unless: Condition
  /** Continues after the name of the field; `{key}` stands for the name of another field. */
  wrong: string
  allowed?: string
}

export type Condition =
  | { has: string }
  /** A boolean that is given as true; given as false. */
  | { on: string }
  | { off: string }
  | { value: string; in: readonly string[] }
  | { value: string; startsWith: string }
  | { any: readonly Condition[] }
  | { all: readonly Condition[] }
  | { not: Condition }

export const has = (field: string): Condition => ({ has: field })
export const on = (field: string): Condition => ({ on: field })
export const off = (field: string): Condition => ({ off: field })
export const is = (value: string, ...values: readonly string[]): Condition => ({ value, in: values })
export const not = (condition: Condition): Condition => ({ not: condition })
export const any = (...conditions: readonly Condition[]): Condition => ({ any: conditions })
export const all = (...conditions: readonly Condition[]): Condition => ({ all: conditions })

export function required(field: string, unless: Condition, wrong: string, allowed?: string): FieldRule {
  return { kind: 'required', field, unless, wrong, ...(allowed !== undefined && { allowed }) }
}

export function forbidden(field: string, unless: Condition, wrong: string): FieldRule {
  return { kind: 'forbidden', field, unless, wrong }
}

type Fields = Readonly<Record<string, unknown>>

/** Checks plain data, so these problems are reported together with those inside single fields. */
export function checkRules(rules: readonly FieldRule[], section: Fields, at: FieldPath): Problem[] {
  return rules
    .filter(({ kind, field, unless }) => {
      const isGiven = section[field] !== undefined
      return isGiven === (kind === 'forbidden') && !holds(unless, section)
    })
    .map(({ field, wrong, allowed }) => ({
      path: [...at, field],
      about: 'field',
      wrong: fillNames(wrong, key => key),
      allowed,
    }))
}

export function fillNames(text: string, nameOf: (key: string) => string): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, key: string) => nameOf(key))
}

/** Variables give text, so `"true"` counts as true. */
function holds(condition: Condition, section: Fields): boolean {
  if ('has' in condition) return section[condition.has] !== undefined
  if ('on' in condition) return textOf(section[condition.on]) === 'true'
  if ('off' in condition) return textOf(section[condition.off]) === 'false'
  if ('any' in condition) return condition.any.some(one => holds(one, section))
  if ('all' in condition) return condition.all.every(one => holds(one, section))
  if ('not' in condition) return !holds(condition.not, section)
  const value = textOf(section[condition.value])
  return 'in' in condition ? condition.in.includes(value) : value.startsWith(condition.startsWith)
}
