import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuantity, withHeapLimit } from '../../../src/operator/job/heap-limit.ts'

test('reads amounts as Kubernetes writes them', () => {
  const cases: [string | number, number | undefined][] = [
    ['128974848', 128_974_848],
    [1024, 1024],
    ['129e6', 129e6],
    ['129M', 129e6],
    ['123Mi', 123 * 1024 ** 2],
    ['1.5Gi', 1.5 * 1024 ** 3],
    ['2k', 2000],
    ['128974848000m', 128_974_848],
    ['1Xi', undefined],
    ['a lot', undefined],
    ['', undefined],
    ['-1Gi', undefined],
  ]
  for (const [quantity, bytes] of cases) assert.equal(parseQuantity(quantity), bytes, String(quantity))
  assert.equal(parseQuantity(undefined), undefined)
})

test('sets the heap to half of the memory limit', () => {
  const heapOf = (limit: string) => withHeapLimit([], limit)[0]?.value
  assert.deepEqual(
    ['128Mi', '256Mi', '512Mi', '1Gi', '8Gi'].map(heapOf),
    [64, 128, 256, 512, 4096].map(mib => `--max-old-space-size=${mib}`),
  )
})

test('sets no heap without a valid memory limit', () => {
  const given = [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }]
  for (const limit of [undefined, 'much', '0', 0]) assert.deepEqual(withHeapLimit(given, limit), given)
})

test('options of the user come last, so that they win, and a value from a secret stays', () => {
  const mine = { name: 'NODE_OPTIONS', value: '--use-system-ca --max-old-space-size=300' }
  assert.deepEqual(withHeapLimit([mine], '1Gi'), [
    { name: 'NODE_OPTIONS', value: '--max-old-space-size=512 --use-system-ca --max-old-space-size=300' },
  ])
  const secret = { name: 'NODE_OPTIONS', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }
  assert.deepEqual(withHeapLimit([secret], '1Gi'), [secret])
})
