import type { CelRule } from './open-api.ts'

/** A field that may be given only where the condition holds. */
export function forbidden(name: string, unless: string, message: string): CelRule {
  const rule = `!has(self.${name}) || ${wrap(unless)}`
  return { rule, message, fieldPath: `.${name}`, reason: 'FieldValueForbidden' }
}

/** A field that must be given unless the condition holds. */
export function needed(name: string, unless: string, message: string): CelRule {
  const rule = unless === 'false' ? `has(self.${name})` : `has(self.${name}) || ${wrap(unless)}`
  return { rule, message, fieldPath: `.${name}`, reason: 'FieldValueRequired' }
}

export function isAnyGiven(...names: string[]): string {
  return names.map(name => `has(self.${name})`).join(' || ')
}

function wrap(condition: string): string {
  return /\|\||&&/.test(condition) ? `(${condition})` : condition
}

/** In the place of a `pattern`, of which the API server has no words but the expression itself. */
export function textRule(pattern: string, allowed: string): CelRule {
  return { rule: `self.matches(${JSON.stringify(pattern)})`, message: `must be ${allowed}` }
}

/** The same for what may be a number too. */
export function textOrNumberRule(pattern: string, allowed: string): CelRule {
  const { rule, message } = textRule(pattern, allowed)
  return { rule: `type(self) != string || ${rule}`, message }
}
