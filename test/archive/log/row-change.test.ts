import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyRow, type ListRow } from '../../../src/archive/log/row-change.ts'
import { partitionSchema } from '../../../src/archive/manifest.ts'

test('the copy of a row has every field of a partition that belongs to its list, and nothing else', () => {
  const { partition: _, indexes: __, reread: ___, ...row } = partitionSchema.shape
  const names = Object.keys(row)
  // What the fields hold does not matter here, only that none of them is undefined.
  const full = Object.fromEntries(names.map((name, i) => [name, [i]])) as unknown as ListRow
  const copy = copyRow({ ...full, ...({ partition: 7, indexes: [], list: {} } as object) })
  assert.deepEqual(copy, full)
})
