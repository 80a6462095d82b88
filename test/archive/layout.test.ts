import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as layout from '../../src/archive/layout.ts'
import { assertKey } from '../../src/storage/key.ts'

const place = { backupId: 'nightly', topic: 'a.b_c-D', partition: 12 }

test('the keys are those that docs/format.md names', () => {
  assert.equal(layout.manifestCopyKey('nightly'), 'nightly/manifest.json')
  assert.equal(layout.manifestKey('nightly', 7), 'nightly/manifests/00000007.json')
  assert.equal(layout.indexKey(place, 7, 'x1'), 'nightly/kafka/a.b_c-D/12/index-7.x1.json')
  assert.equal(layout.segmentKey(place, 42n, 'x1', false), 'nightly/kafka/a.b_c-D/12/00000000000000000042.x1.log')
  assert.equal(layout.segmentKey(place, 42n, 'x1', true), 'nightly/kafka/a.b_c-D/12/00000000000000000042.x1.log.zst')
})

test('the largest offset has its 20 digits, and every key is one that a storage takes', () => {
  const key = layout.segmentKey({ ...place, topic: 'x'.repeat(249) }, 2n ** 63n - 1n, '0123abcd', true)
  assert.match(key, /\/09223372036854775807\./)
  assertKey(key)
})

test('a generation is read back from its key, and nothing else is one', () => {
  for (const generation of [1, 99_999_999, 100_000_000]) {
    assert.equal(layout.parseGeneration(layout.manifestKey('b', generation)), generation)
  }
  for (const key of [
    'b/manifest.json',
    'b/manifests/x.json',
    'b/manifests/1.json.bak',
    'b/manifests/1',
    'b/kafka/manifests/a/1.json',
  ]) {
    assert.equal(layout.parseGeneration(key), undefined, key)
  }
})
