import { type Condition, type FieldRule, fillNames } from '../../config/field-rules.ts'
import type { CelRule } from './field-schema.ts'

/** The names that a resource has for a field: several where it can be given in several ways, none where it has none. */
type NamesOf = (key: string) => readonly string[]

/** The rules of a section as the API server checks them. A field that can be given in several ways is forbidden in each. */
export function formatRules(rules: readonly FieldRule[], namesOf: NamesOf): CelRule[] {
  return rules.flatMap(rule => {
    const names = namesOf(rule.field)
    const [first] = names
    if (first === undefined) return []
    return rule.kind === 'forbidden'
      ? names.map(name => formatForbidden(rule, name, namesOf))
      : [formatRequired(rule, first, names, namesOf)]
  })
}

function formatForbidden({ field, unless, wrong }: FieldRule, name: string, namesOf: NamesOf): CelRule {
  const rule = `!has(self.${name}) || ${wrap(formatCondition(unless, namesOf, field))}`
  return { rule, message: messageOf(name, wrong, namesOf), fieldPath: `.${name}`, reason: 'FieldValueForbidden' }
}

function formatRequired({ unless, wrong }: FieldRule, first: string, names: readonly string[], namesOf: NamesOf) {
  const rule = `${isAnyGiven(names)} || ${wrap(formatCondition(unless, namesOf))}`
  const message = messageOf(names.join(' or '), wrong, namesOf)
  return { rule, message, fieldPath: `.${first}`, reason: 'FieldValueRequired' } as const
}

function messageOf(name: string, wrong: string, namesOf: NamesOf): string {
  return `${name} ${fillNames(wrong, key => namesOf(key).join(' or '))}`
}

/** `given` is a field that is known to be given at this place. */
function formatCondition(condition: Condition, namesOf: NamesOf, given?: string): string {
  const nameOf = (key: string) => namesOf(key)[0] ?? key
  if ('has' in condition) return isAnyGiven(namesOf(condition.has))
  if ('on' in condition) return formatFlag(nameOf(condition.on), '', condition.on === given)
  if ('off' in condition) return formatFlag(nameOf(condition.off), '!', condition.off === given)
  if ('any' in condition) return condition.any.map(one => formatCondition(one, namesOf, given)).join(' || ')
  if ('all' in condition) return condition.all.map(one => formatCondition(one, namesOf, given)).join(' && ')
  if ('not' in condition) return negate(condition.not, formatCondition(condition.not, namesOf, given))
  const name = nameOf(condition.value)
  if ('in' in condition) return isOneOf(name, condition.in)
  return `has(self.${name}) && self.${name}.startsWith('${condition.startsWith}')`
}

function formatFlag(name: string, sign: '' | '!', isGiven: boolean): string {
  return isGiven ? `${sign}self.${name}` : `has(self.${name}) && ${sign}self.${name}`
}

function negate(condition: Condition, text: string): string {
  if ('in' in condition && condition.in.length === 1) return text.replace(' == ', ' != ')
  return 'in' in condition || /\|\||&&/.test(text) ? `!(${text})` : `!${text}`
}

function isOneOf(name: string, values: readonly string[]): string {
  const [first] = values
  return values.length === 1
    ? `self.${name} == '${first}'`
    : `self.${name} in [${values.map(value => `'${value}'`).join(', ')}]`
}

function isAnyGiven(names: readonly string[]): string {
  return names.map(name => `has(self.${name})`).join(' || ')
}

function wrap(condition: string): string {
  return /\|\||&&/.test(condition) ? `(${condition})` : condition
}
