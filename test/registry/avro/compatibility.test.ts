import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CompatibilityLevel, checkCompatibility } from '../../../src/registry/avro/compatibility.ts'
import { parseAvro } from '../../../src/registry/avro/parse-avro.ts'

/** Versions 1 to 3: `a`, then `a` and `b` with a default, then `b` alone. */
const version = (number: number, fields: string) => ({
  version: number,
  schema: parseAvro(`{"type":"record","name":"R","fields":[${fields}]}`),
})
const a = '{"name":"a","type":"int"}'
const b = '{"name":"b","type":"int","default":0}'
const c = '{"name":"c","type":"int"}'
const history = [version(1, a), version(2, `${a},${b}`), version(3, b)]

const levels: [CompatibilityLevel, fields: string, versions: number[]][] = [
  ['NONE', c, []],
  ['BACKWARD', b, []],
  ['BACKWARD', `${b},${a}`, [3]],
  ['BACKWARD', c, [3]],
  ['BACKWARD_TRANSITIVE', c, [1, 2, 3]],
  ['FORWARD', `${b},${c}`, []],
  ['FORWARD', c, []],
  ['FORWARD_TRANSITIVE', c, [1, 2]],
  ['FORWARD_TRANSITIVE', `${a},${c}`, []],
  ['FULL', b, []],
  ['FULL', `${b},${c}`, [3]],
  ['FULL_TRANSITIVE', b, [1, 2]],
]

for (const [level, fields, versions] of levels) {
  test(`${level}: [${fields}] gets along with all but versions ${versions.join(', ') || 'none'}`, () => {
    const found = checkCompatibility(level, version(4, fields).schema, history)
    assert.deepEqual([...new Set(found.map(({ version }) => version))], versions)
  })
}

test('the first version is compatible with anything', () => {
  assert.deepEqual(checkCompatibility('FULL_TRANSITIVE', version(1, c).schema, []), [])
})

test('an incompatibility says who cannot read what', () => {
  const [backward] = checkCompatibility('BACKWARD', version(4, c).schema, history)
  assert.deepEqual([backward?.version, backward?.reader], [3, 'new'])
  const [forward] = checkCompatibility('FORWARD', version(4, b).schema, history.slice(0, 1))
  assert.deepEqual([forward?.version, forward?.reader, forward?.path], [1, 'earlier', '/fields/a'])
})
