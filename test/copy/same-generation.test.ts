import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sealJson } from '../../src/archive/seal.ts'
import { isSameGeneration } from '../../src/copy/compare-histories.ts'

const document = { backup_id: 'b1', generation: 1, topics: [{ end_offset: 9_007_199_254_740_993n }] }

test('the same bytes are the same generation, and so are two that only differ in their encryption', () => {
  assert.ok(isSameGeneration(sealJson(document), sealJson(document)))
  assert.ok(isSameGeneration(sealJson(document), sealJson({ ...document, encryption: { key: 'a' } })))
  assert.ok(isSameGeneration(sealJson({ ...document, encryption: 1 }), sealJson({ ...document, encryption: 2 })))
})

test('any other difference makes another generation, also one beyond what a double can hold', () => {
  assert.ok(!isSameGeneration(sealJson(document), sealJson({ ...document, generation: 2 })))
  const next = { ...document, topics: [{ end_offset: 9_007_199_254_740_992n }] }
  assert.ok(!isSameGeneration(sealJson(document), sealJson(next)))
  assert.ok(!isSameGeneration(sealJson(document), Buffer.from('no JSON')))
  assert.ok(!isSameGeneration(Buffer.from('no JSON'), Buffer.from('none either')))
  assert.ok(!isSameGeneration(Buffer.from('null'), Buffer.from(' null')))
})
