import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeExport } from '../../src/export/export-report.ts'
import { ExportTally } from '../../src/export/export-tally.ts'
import { newTally } from '../../src/inspect/cat.ts'
import { manifest } from '../cli/fake-actions.ts'

test('counts keys and values that conditions were compared with as they are stored', () => {
  const searched = { ...newTally(), keysNotDecoded: 2, notDecoded: 3 }
  const facts = { format: 'jsonl' as const, location: null, exported_at: '', tool_version: '0' }
  const report = describeExport(manifest, { exported: new ExportTally(), searched }, facts)
  assert.equal(report.searched_as_stored, 5)
})
