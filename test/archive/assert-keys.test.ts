import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertManifestKeys } from '../../src/archive/assert-keys.ts'
import type { Manifest } from '../../src/archive/manifest.ts'
import { draftManifest } from './sample-archive.ts'

const stored = (file: string) => ({ file, size: 1, blake3: '0'.repeat(64) })

function withSettings(file: string): Manifest {
  const section = {
    ...{ schema_registry_version: '1', backup_timestamp: '', subjects: [], id_mapping: {} },
    ...{ settings: stored(file), global: stored('generations/1.run1/config/global.json') },
  }
  return { format: 'kafka-backup', format_version: 1, ...draftManifest([], { schema_registry: section }) }
}

test('a file of the schema registry lies in the folder of a generation', () => {
  assertManifestKeys(withSettings('generations/1.run1/_schemas.json'), 'key')
})

for (const [what, file] of Object.entries({
  'a current copy': '_schemas.json',
  'a list of copies': 'generations/1.run1/current.json',
  'a key that no store can hold': `generations/1.run1/subjects/${'x'.repeat(256)}/metadata.json`,
  'a key beyond the longest': `generations/${'x'.repeat(2000)}/_schemas.json`,
  'a way out': 'generations/../_schemas.json',
})) {
  test(`${what} in its place is damage`, () => {
    assert.throws(() => assertManifestKeys(withSettings(file), 'key'), { code: 'ARCHIVE_DAMAGED' })
  })
}
