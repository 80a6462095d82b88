import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseManifest } from '../../src/archive/manifest.ts'
import { checkSeal, sealJson } from '../../src/archive/seal.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import { formatJson } from '../../src/lib/json.ts'
import { draftManifest, topicOf } from './sample-archive.ts'

const manifest = {
  format: 'kafka-backup',
  format_version: 1,
  ...draftManifest([topicOf('orders', [emptyPartition(0, 9_007_199_254_740_993n)])]),
}

test('a sealed document is JSON that ends with its checksum, and is accepted', () => {
  const sealed = sealJson(manifest)
  checkSeal(sealed, 'key', true)
  assert.match(sealed.toString(), /"checksum": "[0-9a-f]{64}"\n}\n$/)
  assert.deepEqual(parseManifest(sealed, 'key'), manifest)
})

test('every single flipped bit of a sealed manifest is found', () => {
  const sealed = sealJson(manifest)
  for (let position = 0; position < sealed.length; position++) {
    for (let bit = 0; bit < 8; bit++) {
      const damaged = Buffer.from(sealed)
      damaged[position] = (damaged[position] ?? 0) ^ (1 << bit)
      assert.throws(
        () => parseManifest(damaged, 'key'),
        { name: 'KafkaBackupError' },
        `bit ${bit} of byte ${position} changes nothing`,
      )
    }
  }
})

test('a changed version is damage where the checksum does not match, and a newer version where it does', () => {
  const sealed = sealJson(manifest)
  for (const version of [2, 3, 9]) {
    const text = sealed.toString('latin1').replace('"format_version": 1,', `"format_version": ${version},`)
    assert.throws(() => parseManifest(Buffer.from(text, 'latin1'), 'key'), {
      code: 'ARCHIVE_DAMAGED',
      message: 'key does not have the checksum that it claims',
    })
    const twice = Buffer.from(text.replace('orders', 'orderz'), 'latin1')
    assert.throws(() => parseManifest(twice, 'key'), { code: 'ARCHIVE_DAMAGED' })
    const honest = sealJson({ ...manifest, format_version: version })
    assert.throws(() => parseManifest(honest, 'key'), { code: 'ARCHIVE_TOO_NEW' })
  }
  const marker = Buffer.from('{"format":"kafka-backup","format_version":2}\n')
  assert.throws(() => parseManifest(marker, 'key'), { code: 'ARCHIVE_TOO_NEW' })
})

test('a document that lost its checksum, or its end, is refused', () => {
  const sealed = sealJson(manifest)
  for (const length of [sealed.length - 1, sealed.length - 3, sealed.length - 50, sealed.length - 100]) {
    assert.throws(() => parseManifest(sealed.subarray(0, length), 'key'), { code: 'ARCHIVE_DAMAGED' })
  }
})

test('a document of the first version, without a checksum, is accepted', () => {
  assert.deepEqual(parseManifest(Buffer.from(formatJson(manifest, 1)), 'key'), manifest)
})

test('a document of the first version is accepted also where a topic or a setting bears the name of the checksum', () => {
  const topic = { ...topicOf('checksum', [emptyPartition(0, 0n)]), configs: { checksum: 'checksum' } }
  const first = { ...manifest, ...draftManifest([topic]) }
  assert.deepEqual(parseManifest(Buffer.from(formatJson(first, 1)), 'key'), first)
  assert.throws(() => parseManifest(Buffer.from(formatJson({ ...first, checksum: '0'.repeat(64) }, 1)), 'key'), {
    code: 'ARCHIVE_DAMAGED',
  })
})
