import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { resolveAvro } from '../../../src/registry/avro/compatibility.ts'
import { parseAvro } from '../../../src/registry/avro/parse-avro.ts'

/**
 * Pairs of schemas made at random, one a change of the other, and what `SchemaCompatibility` of Apache Avro 1.12.0 for
 * Java says of them.
 */
const verdicts: { isCompatible: boolean; reader: unknown; writer: unknown }[] = readFileSync(
  join(import.meta.dirname, 'apache-avro-verdicts.jsonl'),
  'utf8',
)
  .trim()
  .split('\n')
  .map(line => JSON.parse(line))

test('four hundred pairs of schemas are judged as Apache Avro judges them', () => {
  assert.equal(verdicts.length, 400)
  for (const { isCompatible, reader, writer } of verdicts) {
    const mismatches = resolveAvro(parseAvro(JSON.stringify(reader)), parseAvro(JSON.stringify(writer)))
    assert.equal(mismatches.length === 0, isCompatible, JSON.stringify({ reader, writer, mismatches }))
  }
})
