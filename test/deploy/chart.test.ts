import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { crdTemplates } from '../../docs/crd-templates.ts'
import { valuesTable } from '../../docs/values-table.ts'
import { runBuckets } from '../../src/operator/metrics/catalogue.ts'
import { marked } from '../markdown.ts'

const root = resolve(import.meta.dirname, '../..')
const chart = join(root, 'deploy/helm/kafka-backup-operator')
const read = (path: string) => readFileSync(join(chart, path), 'utf8')
const values: Record<string, unknown> = parse(read('values.yaml'))
const schema = JSON.parse(read('values.schema.json')) as Schema

interface Schema {
  properties?: Record<string, Schema>
  additionalProperties?: unknown
  enum?: unknown[]
  propertyNames?: Schema
}

test('the templates of the CRDs are those of deploy/crds', () => {
  const templates = crdTemplates()
  const found = readdirSync(join(chart, 'templates/crds')).map(name => `templates/crds/${name}`)
  assert.deepEqual(found.sort(), Object.keys(templates).sort())
  for (const [path, text] of Object.entries(templates)) assert.ok(read(path) === text, `${path}: run make docs`)
})

test('README.md has the table of the values', () => {
  assert.equal(marked(read('README.md'), 'values'), valuesTable(read('values.yaml')))
})

test('every value is told about in a sentence', () => {
  const rows = valuesTable(read('values.yaml')).split('\n').slice(2)
  assert.ok(rows.length > 70)
  assert.deepEqual(
    rows.filter(row => !/ \| [A-Z`].*\.$/.test(row.replace(/ \|$/, ''))),
    [],
  )
})

test('the schema accepts the defaults and names exactly the values that there are', () => {
  const isValid = new Ajv({ strict: false }).compile(schema)
  const accepted: boolean = isValid(values)
  assert.ok(accepted, JSON.stringify(isValid.errors))
  assert.deepEqual(namesOf(schema).sort(), [...pathsOf(values, schema), 'global'].sort())
})

test('the chart has the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  assert.equal(parse(read('Chart.yaml')).appVersion, version)
})

test('the dashboard and the alerts are in the chart', () => {
  const dashboard = readFileSync(join(root, 'deploy/grafana/kafka-backup-operator.json'), 'utf8')
  assert.ok(read('files/kafka-backup-operator.json') === dashboard, 'run make docs')
  assert.ok(parse(read('files/alerts.yaml')).groups.length > 0)
})

test('a run can be called slow at each bucket of its histogram, as between them nothing is known', () => {
  const { metrics } = schema.properties ?? {}
  const { slowSeconds } = metrics?.properties?.prometheusRule?.properties?.thresholds?.properties ?? {}
  assert.deepEqual(slowSeconds?.enum, runBuckets)
})

test('only alerts that there are can be changed', () => {
  const { alerts } = schema.properties?.metrics?.properties?.prometheusRule?.properties ?? {}
  const groups: { rules: { alert: string }[] }[] = parse(read('files/alerts.yaml')).groups
  assert.deepEqual(
    alerts?.propertyNames?.enum,
    groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)),
  )
})

/** Paths of the schema: a group is a closed object. */
function namesOf({ properties = {} }: Schema, above = ''): string[] {
  return Object.entries(properties).flatMap(([name, below]) => {
    const path = `${above}${name}`
    return below.properties === undefined ? [path] : namesOf(below, `${path}.`)
  })
}

/** Paths of the values, as deep as the schema has properties. */
function pathsOf(object: Record<string, unknown>, { properties }: Schema, above = ''): string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const below = properties?.[name]
    const path = `${above}${name}`
    return below?.properties === undefined ? [path] : pathsOf(value as Record<string, unknown>, below, `${path}.`)
  })
}
