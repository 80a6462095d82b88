import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describedJobSchema, type JsonSchema } from '../../../src/config/job-schema.ts'
import { modes } from '../../../src/config/mode.ts'
import type { Field, Section } from '../../../src/operator/crd/field-tree.ts'
import { leftOut, namesOf } from '../../../src/operator/crd/field-tree.ts'
import { layoutOf } from '../../../src/operator/crd/layout.ts'
import { controllers } from '../../../src/operator/crd/resource.ts'

test('every field of backup and restore jobs is a field of a resource, or is listed as omitted', () => {
  const reached = new Set(controllers.flatMap(controller => layoutOf(controller).parts.flatMap(reachedFrom)))
  const missing = new Set(
    modes.flatMap(mode => listLeaves(describedJobSchema(mode), '')).filter(path => !reached.has(path)),
  )
  const named = Object.keys(leftOut).flatMap(path => [...missing].filter(each => isWithin(each, path)))
  assert.deepEqual(
    [...missing].filter(path => !named.includes(path)),
    [],
  )
  assert.deepEqual(
    Object.keys(leftOut).filter(path => ![...missing].some(each => isWithin(each, path))),
    [],
    'what is named as left out is there, or is no field at all',
  )
})

test('a secret that a job file takes from a variable or a file is one field, read from a file', () => {
  const names = namesBelow(layoutOf('backup').parts.map(({ field }) => field))
  assert.ok(names.includes('kafkaCluster.security.sasl.passwordSecret'))
  assert.ok(!names.includes('kafkaCluster.security.sasl.passwordFileSecret'))
  assert.ok(names.includes('kafkaCluster.security.sasl.oauth.clientSecret'))
})

test('has the field names of the specification', () => {
  const names = namesBelow(layoutOf('backup').parts.map(({ field }) => field))
  for (const name of ['enabled', 'url']) assert.ok(names.includes(`enterprise.schemaRegistry.${name}`), name)
  assert.ok(names.includes('kafkaCluster.bootstrapServers'))
})

test('no secret or file path of a job can be written literally into a resource', () => {
  const leaves = controllers.flatMap(controller => layoutOf(controller).parts.flatMap(({ field }) => leavesOf(field)))
  const open = leaves.filter(({ forms, schemas }) => {
    const isSecret = schemas.some(schema => schema.writeOnly === true || schema['x-type'] === 'file path')
    return isSecret && forms.some(({ type }) => type === 'plain')
  })
  assert.deepEqual([...new Set(open.map(({ key }) => key))].sort(), ['federated_token_file', 'proxy'])
})

test('no section has two fields with the same name', () => {
  for (const controller of controllers) {
    for (const { field } of layoutOf(controller).parts) {
      for (const section of sectionsOf(field)) {
        const names = section.fields.flatMap(namesOf)
        assert.deepEqual(names, [...new Set(names)], section.path)
      }
    }
  }
})

/** Where the job file has a leaf, with what is merged into it. */
function reachedFrom({ path, field }: { path: readonly string[]; field: Field }): string[] {
  const at = path.join('.')
  if (field.type === 'leaf') return [at]
  return reachedIn(field, at)
}

function reachedIn(field: Field, at: string): string[] {
  if (field.type === 'leaf')
    return field.forms.some(({ type }) => type === 'secret-file') ? [at, at.replace(/_file$/, '')] : [at]
  const section = field.type === 'list' ? field.item : field.section
  return [
    ...(section.chooser ? [`${at}.${section.chooser.key}`] : []),
    ...section.fields.flatMap(each => reachedIn(each, `${at}.${each.key}`)),
  ]
}

function listLeaves(schema: JsonSchema, at: string): string[] {
  if (schema['x-type'] !== undefined) return [at]
  const items = schema.items as JsonSchema | undefined
  const variants = (schema.oneOf ?? [items ?? schema]) as JsonSchema[]
  return variants.flatMap(variant =>
    Object.entries((variant.properties ?? {}) as Record<string, JsonSchema>).flatMap(([key, field]) =>
      listLeaves(field, at === '' ? key : `${at}.${key}`),
    ),
  )
}

function isWithin(path: string, section: string): boolean {
  return path === section || path.startsWith(`${section}.`)
}

function sectionsOf(field: Field): Section[] {
  if (field.type === 'leaf') return []
  const section = field.type === 'list' ? field.item : field.section
  return [section, ...section.fields.flatMap(sectionsOf)]
}

function leavesOf(field: Field) {
  return field.type === 'leaf'
    ? [field]
    : sectionsOf(field).flatMap(({ fields }) => fields.filter(each => each.type === 'leaf'))
}

function namesBelow(fields: readonly Field[], at = ''): string[] {
  return fields.flatMap(field => {
    const names = namesOf(field).map(name => `${at}${name.replace(/^source$/, 'kafkaCluster')}`)
    if (field.type === 'leaf') return names
    const section = field.type === 'list' ? field.item : field.section
    return [...names, ...namesBelow(section.fields, `${names[0]}.`)]
  })
}
