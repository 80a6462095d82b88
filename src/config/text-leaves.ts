import { type Complain, type Complaint, leaf, reference } from './leaf.ts'
import { isMap } from './problem.ts'
import type { TextRule } from './text-rules.ts'

/** `hidden` for what may contain a secret, `secret` for what is one. */
export function text(rule: TextRule, options: { description: string; hidden?: boolean; secret?: boolean }) {
  const { description, secret = false, hidden = secret } = options
  return leaf<string, string>({
    description,
    type: rule.type,
    allowed: rule.allowed,
    json: jsonOfText(rule),
    hidden,
    secret,
    read: (value, complain) => readText(rule, value, complain),
  })
}

export interface TextListOptions<S extends 'one' | 'commas'> {
  description: string
  allowed: string
  min: number
  /** A single text may stand for the list: `one` is a list of that text, `commas` is split at its commas. */
  shorthand?: S
  /** An item may contain a secret: no message shows one. */
  hidden?: boolean
}

export function textList<S extends 'one' | 'commas' = never>(rule: TextRule, options: TextListOptions<S>) {
  const { description, allowed, min, shorthand, hidden = false } = options
  const list = { type: 'array', items: jsonOfText(rule), ...(min > 0 ? { minItems: min } : {}) }
  const single = shorthand === 'one' ? jsonOfText(rule) : { type: 'string', minLength: 1 }
  return leaf<string[], readonly string[] | ([S] extends [never] ? never : string)>({
    description,
    type: shorthand === undefined ? 'list of text' : 'list of text, or text',
    allowed,
    hidden,
    json: shorthand === undefined ? list : { anyOf: [list, single] },
    read: (value, complain) => {
      const items = shorthand !== undefined && typeof value === 'string' ? spread(value, shorthand) : value
      if (!Array.isArray(items)) {
        complain({ wrong: 'is not a list', wantsList: true, allowed: `${allowed}, written as a list such as [a, b]` })
        return undefined
      }
      if (items.length < min) complain({ about: 'field', wrong: 'is an empty list' })
      const itemComplain = (index: number) => (complaint: Complaint) =>
        complain({ allowed: rule.allowed, ...complaint, ...(items === value ? { at: [index] } : {}) })
      const texts = items.map((item, index) => readText(rule, item, itemComplain(index)))
      return texts.filter(item => item !== undefined)
    },
  })
}

/** A map whose keys are names of the user's own. */
export function textMap(rule: TextRule, options: { description: string; allowed: string }) {
  const { description, allowed } = options
  return leaf<Record<string, string>, Readonly<Record<string, string>>>({
    description,
    type: 'map of text to text',
    allowed,
    json: { type: 'object', additionalProperties: jsonOfText(rule) },
    read: (value, complain) => {
      if (!isMap(value)) {
        complain({ wrong: 'is not a map' })
        return undefined
      }
      const entries = Object.entries(value).map(([key, item]) => {
        const read = readText(rule, item, complaint => complain({ allowed: rule.allowed, ...complaint, at: [key] }))
        return [key, read ?? ''] as const
      })
      return Object.fromEntries(entries)
    },
  })
}

export function readText(rule: TextRule, value: unknown, complain: Complain): string | undefined {
  if (value === null) complain({ about: 'field', wrong: 'has no value' })
  else if (typeof value === 'number' || typeof value === 'boolean') {
    complain({ wrong: `is read as a ${typeof value}, but this is a text: put quotes around it` })
  } else if (typeof value !== 'string') complain({ wrong: 'is not a text' })
  else {
    const wrong = rule.wrong(value)
    if (wrong === undefined) return value
    complain({ wrong })
  }
  return undefined
}

function spread(value: string, shorthand: 'one' | 'commas'): string[] {
  return shorthand === 'one' ? [value] : value.split(',').map(part => part.trim())
}

export function jsonOfText(rule: TextRule): Record<string, unknown> {
  return { type: 'string', anyOf: [{ pattern: rule.pattern }, reference] }
}
