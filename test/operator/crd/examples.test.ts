import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readExamples } from './examples.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/operator.md'), 'utf8')
const examples = Object.entries(readExamples())

test('docs/operator.md links every example', () => {
  assert.ok(examples.length >= 20)
  assert.deepEqual(
    examples.filter(([file]) => !page.includes(`](../examples/kubernetes/${file})`)).map(([file]) => file),
    [],
  )
})

test('examples contain no secret that looks real', () => {
  const secrets = examples.flatMap(([, objects]) => objects.filter(({ kind }) => kind === 'Secret'))
  assert.ok(secrets.length > 0)
  for (const { stringData, data } of secrets) {
    assert.equal(data, undefined)
    assert.deepEqual([...new Set(Object.values(stringData as Record<string, string>))], ['REPLACE-ME'])
  }
})

test('every secret and claim of an example is defined in its file, unless another program creates it', () => {
  for (const [file, objects] of examples) {
    const made = new Set(objects.map(({ metadata }) => metadata.name))
    const named = objects.flatMap(({ spec }) => namesIn(spec)).filter(name => !made.has(name))
    assert.deepEqual(named, [], file)
  }
})

function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === 'claimName') return [String(inner)]
    if (/(Secret|ConfigMap)$/.test(key)) return [(inner as { name: string }).name]
    return namesIn(inner)
  })
}
