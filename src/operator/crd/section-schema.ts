import { extraFields, otherDefaults } from './extra-fields.ts'
import { type CelRule, type FieldGroup, type FieldSchema, keyRef, textRule } from './field-schema.ts'
import type { Field, Form, LeafField, Section } from './field-tree.ts'
import { namesOf } from './field-tree.ts'
import { layoutOf, type Part } from './layout.ts'
import { leafSchema } from './leaf-schema.ts'
import { resetFields, rollbackFields } from './offset-fields.ts'
import type { AnyController } from './resource.ts'
import { sectionRules } from './section-rules.ts'
import { inSpecWords } from './spec-words.ts'

const maxListedSections = 16

const openUrl = textRule(
  '^[Hh][Tt][Tt][Pp][Ss]?://[^@]+$',
  'an http or https URL without credentials; put one with credentials into a secret',
)

/** The structural schema of a section, with the rules that hold between its fields. */
function sectionSchema(section: Section): FieldSchema {
  const { chooser, fields, path } = section
  const extras = extraFields[path] ?? {}
  const properties = Object.fromEntries([
    ...(chooser
      ? [
          [
            chooser.name,
            { type: 'string', description: chooser.description, enum: chooser.kinds } satisfies FieldSchema,
          ] as const,
        ]
      : []),
    ...fields.flatMap(field => fieldSchemas(field, section)),
    ...Object.entries(extras).map(([name, { schema }]) => [name, schema] as const),
  ])
  const required = [...(chooser ? [chooser.name] : []), ...fields.filter(isRequired).flatMap(namesOf)]
  const rules = [...fields.flatMap(formRules), ...kindRules(section), ...sectionRules(section)]
  return {
    type: 'object',
    ...(section.description === '' ? {} : { description: inSpecWords(section.description) }),
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(rules.length > 0 ? { 'x-kubernetes-validations': rules } : {}),
  }
}

/** The schemas of a field that is not part of a section. */
function formSchemas(field: Field): FieldSchema[] {
  return fieldSchemas(field, { path: '', description: '', fields: [] }).map(([, schema]) => schema)
}

function fieldSchemas(field: Field, section: Section): [string, FieldSchema][] {
  if (field.type === 'section') return [[field.name, sectionSchema(field.section)]]
  if (field.type === 'leaf') return field.forms.map(form => [form.name, formSchema(field, form, section)])
  const { name, description, item, minItems } = field
  return [
    [
      name,
      {
        type: 'array',
        description: inSpecWords(description),
        minItems,
        maxItems: maxListedSections,
        items: sectionSchema(item),
      },
    ],
  ]
}

function formSchema(field: LeafField, form: Form, { path, chooser }: Section): FieldSchema {
  const [schema = {}] = field.schemas
  const description = inSpecWords(String(schema.description))
  if (form.type === 'map-file') return keyRef(`The same from a ConfigMap: ${description}`)
  if (form.type !== 'plain') return keyRef(`From a secret: ${description}`)
  const own = `${path}.${field.key}`
  // The API server would set the default of one kind for the others too.
  const fallback = chooser ? undefined : (otherDefaults[own] ?? schema.default)
  const isDefault = fallback !== undefined && !isEmpty(fallback)
  const words = chooser && schema.default !== undefined ? `${description} Default: ${schema.default}.` : description
  return { ...plainSchema(field), description: words, ...(isDefault ? { default: fallback } : {}) }
}

/** An empty default has no effect. */
function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function plainSchema({ schemas, key }: LeafField): FieldSchema {
  const schema = leafSchema(schemas)
  // The URLs of a registry are one text, joined by commas, as in a job file.
  if (key === 'url' && schema.items) return { ...schema.items, maxLength: 2048 }
  const isSecret = schemas.some(({ writeOnly }) => writeOnly === true)
  return isSecret ? { ...schema, 'x-kubernetes-validations': [openUrl] } : schema
}

function isRequired(field: Field): boolean {
  return field.requiredFor === 'all' && namesOf(field).length === 1
}

/** A value is given in one way only. */
function formRules(field: Field): CelRule[] {
  const names = namesOf(field)
  if (names.length < 2) return []
  const both = names.map(name => `has(self.${name})`).join(' && ')
  const rules: CelRule[] = [
    { rule: `!(${both})`, message: `give ${names.join(' or ')}, not both`, fieldPath: `.${names[1]}` },
  ]
  if (field.requiredFor === 'all') rules.push(required('true', field))
  return rules
}

/** Fields of other kinds are forbidden; fields that the kind needs are required. */
function kindRules({ chooser, fields, path }: Section): CelRule[] {
  if (chooser === undefined) return []
  const { name } = chooser
  const isOneOf = (kinds: readonly string[]) => `self.${name} in [${kinds.map(kind => `'${kind}'`).join(', ')}]`
  const belongs = (field: string, kinds: readonly string[]): CelRule => ({
    rule: `!has(self.${field}) || ${isOneOf(kinds)}`,
    message: `${field} is for ${name} ${kinds.join(', ')}`,
    fieldPath: `.${field}`,
    reason: 'FieldValueForbidden',
  })
  const own = fields.flatMap(field => [
    ...(field.kinds ? namesOf(field).map(each => belongs(each, field.kinds ?? [])) : []),
    ...(field.requiredFor === 'all' ? [] : field.requiredFor).map(kind =>
      required(`self.${name} == '${kind}'`, field, `${name} ${kind}`),
    ),
  ])
  const extras = Object.entries(extraFields[path] ?? {}).flatMap(([each, { kinds }]) =>
    (kinds ?? []).flatMap(kind => [
      belongs(each, [kind]),
      requiredName(`self.${name} == '${kind}'`, each, `${name} ${kind}`),
    ]),
  )
  return [...own, ...extras]
}

function required(when: string, field: Field, by?: string): CelRule {
  const names = namesOf(field)
  return requiredName(when, names[0] ?? '', by, names)
}

function requiredName(when: string, name: string, by?: string, names: readonly string[] = [name]): CelRule {
  const isGiven = names.map(each => `has(self.${each})`).join(' || ')
  return {
    rule: when === 'true' ? isGiven : `!(${when}) || ${isGiven}`,
    message: `${names.join(' or ')} is required${by === undefined ? '' : ` with ${by}`}`,
    fieldPath: `.${name}`,
    reason: 'FieldValueRequired',
  }
}

const none: FieldGroup = { properties: {}, required: [], rules: [] }

const ownFields: Record<AnyController, FieldGroup> = {
  backup: none,
  restore: none,
  storage: none,
  offset_reset: resetFields,
  offset_rollback: rollbackFields,
}

/** Structural, bounded, and from the same source as the check of job files. */
export function jobFieldSchema(controller: AnyController): FieldGroup {
  const { parts } = layoutOf(controller)
  const own = ownFields[controller]
  return {
    properties: { ...Object.fromEntries(parts.map(part => [part.name, partSchema(part)])), ...own.properties },
    required: [...parts.filter(({ isRequired }) => isRequired).map(({ name }) => name), ...own.required],
    rules: own.rules,
  }
}

function partSchema({ field }: Part): FieldSchema {
  if (field.type === 'section') return sectionSchema(field.section)
  const [schema] = formSchemas(field)
  if (schema === undefined) throw new Error(`${field.key} has no schema`)
  return schema
}
