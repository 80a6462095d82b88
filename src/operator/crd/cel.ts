import { type Condition, type FieldRule, fillNames } from '../../config/field-rules.ts'
import type { CelRule } from './field-schema.ts'

/** The names that a resource has for a field: several where it can be given in several ways, none where it has none. */
type NamesOf = (key: string) => readonly string[]

/**
 * The rules of a section as the API server checks them. A field that can be given in several ways is forbidden in each. A rule
 * about fields that a resource does not have is left out.
 */
export function formatRules(rules: readonly FieldRule[], namesOf: NamesOf): CelRule[] {
  return rules.flatMap(rule => {
    const names = [...namesOf(rule.field), ...(rule.kind === 'required' && rule.or ? namesOf(rule.or) : [])]
    const [first] = names
    if (first === undefined || formatCondition(rule.unless, namesOf) === 'true') return []
    return rule.kind === 'forbidden'
      ? names.map(name => formatForbidden(rule, name, namesOf))
      : [formatRequired(rule, first, names, namesOf)]
  })
}

function formatForbidden({ field, unless, wrong }: FieldRule, name: string, namesOf: NamesOf): CelRule {
  const rule = `${negate(isGiven(name))} || ${wrap(formatCondition(unless, namesOf, field))}`
  return { rule, message: messageOf(name, wrong, namesOf), fieldPath: `.${name}`, reason: 'FieldValueForbidden' }
}

function formatRequired(
  { kind, or = '', unless, wrong }: FieldRule,
  first: string,
  names: readonly string[],
  namesOf: NamesOf,
): CelRule {
  const isMet = kind === 'one' ? `${wrap(isAnyGiven(names))} != ${wrap(isAnyGiven(namesOf(or)))}` : isAnyGiven(names)
  const condition = formatCondition(unless, namesOf)
  const rule = condition === 'false' ? isMet : `${isMet} || ${wrap(condition)}`
  const message = messageOf(names.join(' or '), wrong, namesOf)
  return { rule, message, fieldPath: `.${first}`, reason: 'FieldValueRequired' }
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
  if ('empty' in condition) return `size(self.${nameOf(condition.empty)}) == 0`
  if ('https' in condition) return `self.${nameOf(condition.https)}.matches('${httpsUrls}')`
  if ('any' in condition) return join(' || ', condition.any, 'false', one => formatCondition(one, namesOf, given))
  if ('all' in condition) return join(' && ', condition.all, 'true', one => formatCondition(one, namesOf, given))
  if ('not' in condition) return negate(formatCondition(condition.not, namesOf, given))
  const name = nameOf(condition.value)
  if ('in' in condition) return [...holders(name), isOneOf(name, condition.in)].join(' && ')
  return `has(self.${name}) && self.${name}.startsWith('${condition.startsWith}')`
}

function formatFlag(name: string, sign: '' | '!', isGiven: boolean): string {
  return isGiven ? `${sign}self.${name}` : `has(self.${name}) && ${sign}self.${name}`
}

/** One or several, joined by commas. */
const httpsUrls = '^(?i)[ ]*https://[^,]*(,[ ]*https://[^,]*)*$'

function join(
  sign: ' || ' | ' && ',
  conditions: readonly Condition[],
  none: 'true' | 'false',
  format: (condition: Condition) => string,
): string {
  const parts = conditions.map(format).filter(text => text !== none)
  const decided = none === 'true' ? 'false' : 'true'
  return parts.includes(decided) ? decided : parts.join(sign) || none
}

function negate(text: string): string {
  if (text === 'true' || text === 'false') return text === 'true' ? 'false' : 'true'
  if (/\|\||&&| in /.test(text)) return `!(${text})`
  return text.includes(' == ') ? text.replace(' == ', ' != ') : `!${text}`
}

function isOneOf(name: string, values: readonly string[]): string {
  const [first] = values
  return values.length === 1
    ? `self.${name} == '${first}'`
    : `self.${name} in [${values.map(value => `'${value}'`).join(', ')}]`
}

function isAnyGiven(names: readonly string[]): string {
  return names.length === 1 ? isGiven(names[0] ?? '') : names.map(name => wrap(isGiven(name))).join(' || ') || 'false'
}

/** CEL fails for a field of a section that is not given. */
function isGiven(name: string): string {
  return [...holders(name), `has(self.${name})`].join(' && ')
}

/** That the sections above a field are given. */
function holders(name: string): string[] {
  const parts = name.split('.').slice(0, -1)
  return parts.map((_, index) => `has(self.${parts.slice(0, index + 1).join('.')})`)
}

function wrap(condition: string): string {
  return /\|\||&&/.test(condition) ? `(${condition})` : condition
}
