import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CelRule, FieldSchema } from '../../../src/operator/crd/field-schema.ts'
import { controllers } from '../../../src/operator/crd/resource.ts'
import { jobFieldSchema } from '../../../src/operator/crd/section-schema.ts'

for (const controller of controllers) {
  const { properties, required, rules } = jobFieldSchema(controller)
  const spec: FieldSchema = { type: 'object', properties, required, 'x-kubernetes-validations': rules }

  test(`${controller}: every value has one type, or is a number or a string`, () => {
    const wrong = listNodes(spec).filter(
      ({ node }) => (node.type === undefined) !== (node['x-kubernetes-int-or-string'] === true),
    )
    assert.deepEqual(
      wrong.map(({ path }) => path),
      [],
    )
  })

  test(`${controller}: strings, lists and maps are bounded, which bounds the cost of rules`, () => {
    const unbounded = listNodes(spec).filter(({ node }) => {
      if (node.type === 'string') return node.enum === undefined && node.maxLength === undefined
      if (node.type === 'array') return node.maxItems === undefined
      if (node.additionalProperties) return node.maxProperties === undefined
      return node['x-kubernetes-int-or-string'] === true && node.maxLength === undefined
    })
    assert.deepEqual(
      unbounded.map(({ path }) => path),
      [],
    )
  })

  test(`${controller}: every named field has a description`, () => {
    const silent = listNodes(spec).filter(({ path, node }) => isNamed(path) && !node.description)
    assert.deepEqual(
      silent.map(({ path }) => path),
      [],
    )
  })

  test(`${controller}: rules and required fields name existing fields`, () => {
    for (const { path, node } of listNodes(spec)) {
      for (const name of node.required ?? []) assert.ok(node.properties?.[name], `${path}.${name}`)
      for (const rule of node['x-kubernetes-validations'] ?? []) assertRule(rule, node, path)
    }
  })

  test(`${controller}: no description uses the field names of a job file`, () => {
    const words = listNodes(spec).flatMap(({ path, node }) => {
      const texts = [node.description ?? '', ...(node['x-kubernetes-validations'] ?? []).map(({ message }) => message)]
      return texts.flatMap(text => [...text.matchAll(/\b[a-z]+(_[a-z]+)+\b/g)].map(([word]) => `${path}: ${word}`))
    })
    const values = /: (by_key|header_based|new_incarnation|per_topic)$/
    assert.deepEqual(
      words.filter(word => !values.test(word)),
      [],
    )
  })
}

test('the default of one storage backend is not applied to the others', () => {
  const { storage } = jobFieldSchema('backup').properties
  const defaults = Object.entries(storage?.properties ?? {}).filter(([, field]) => field.default !== undefined)
  assert.deepEqual(defaults, [])
  assert.match(storage?.properties?.partSize?.description ?? '', /Default: 5MiB\.$/)
})

test('a field of one storage backend is refused with the others, and required where it is needed', () => {
  const rules = jobFieldSchema('backup').properties.storage?.['x-kubernetes-validations'] ?? []
  const about = (name: string) =>
    rules.filter(({ fieldPath }) => fieldPath === `.${name}`).map(({ message }) => message)
  assert.deepEqual(about('bucket'), [
    'bucket is for backend s3, gcs',
    'bucket is required with backend s3',
    'bucket is required with backend gcs',
  ])
  assert.deepEqual(about('pvc'), ['pvc is for backend pvc', 'pvc is required with backend pvc'])
})

test('a resource prunes after its backups by default', () => {
  assert.equal(jobFieldSchema('backup').properties.retention?.properties?.afterBackup?.default, true)
})

test('a size is a number or a string with a unit, an offset a number or a string, a count a number', () => {
  const backup = jobFieldSchema('backup').properties.backup?.properties ?? {}
  const restore = jobFieldSchema('restore').properties.restore?.properties ?? {}
  assert.equal(backup.segmentBytes?.['x-kubernetes-int-or-string'], true)
  assert.equal(restore.offsetRanges?.additionalProperties?.properties?.start?.['x-kubernetes-int-or-string'], true)
  assert.equal(backup.connectionsPerBroker?.type, 'integer')
  assert.equal(restore.partitions?.additionalProperties?.items?.type, 'integer')
})

interface Node {
  path: string
  node: FieldSchema
}

function listNodes(node: FieldSchema, path = 'spec'): Node[] {
  return [
    { path, node },
    ...Object.entries(node.properties ?? {}).flatMap(([name, each]) => listNodes(each, `${path}.${name}`)),
    ...(node.items ? listNodes(node.items, `${path}[]`) : []),
    ...(node.additionalProperties ? listNodes(node.additionalProperties, `${path}{}`) : []),
  ]
}

/** Items, the parts of references and the bounds of ranges are told of by the field around them. */
function isNamed(path: string): boolean {
  return path !== 'spec' && !/(\[\]|\{\}|\{\}\.(start|end)|\.(name|key))$/.test(path)
}

function assertRule({ rule, fieldPath }: CelRule, { properties }: FieldSchema, path: string): void {
  if (fieldPath !== undefined) assert.ok(fieldBelow(properties, fieldPath.slice(1)), `${path}${fieldPath}`)
  if (properties === undefined) return
  const names = [...rule.replaceAll(/"(\\.|[^"])*"|'[^']*'/g, '').matchAll(/\bself\.((\w+\.)*\w+)\b(?!\()/g)].map(
    ([, name = '']) => name,
  )
  for (const name of names) assert.ok(fieldBelow(properties, name), `${path}: ${rule} has ${name}`)
}

function fieldBelow(properties: FieldSchema['properties'], path: string): FieldSchema | undefined {
  const [name = '', ...below] = path.split('.')
  const field = properties?.[name]
  return field === undefined || below.length === 0 ? field : fieldBelow(field.properties, below.join('.'))
}
