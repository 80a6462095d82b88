import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
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

test('the heap of Node.js is at most half of the memory limit', () => {
  for (const mib of [64, 128, 256, 512, 1024, 8192]) {
    const value = String(withHeapLimit([], `${mib}Mi`)[0]?.value)
    const { stdout } = spawnSync(process.execPath, ['--print', 'v8.getHeapStatistics().heap_size_limit'], {
      env: { NODE_OPTIONS: value },
      encoding: 'utf8',
    })
    const heapMib = Number(stdout) / 1024 ** 2
    assert.ok(heapMib <= mib / 2 && heapMib > mib / 3, `${mib}Mi: ${value} is a heap of ${heapMib} MiB`)
  }
})

test('sets no heap without a valid memory limit', () => {
  const given = [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }]
  for (const limit of [undefined, 'much', '0', 0]) assert.deepEqual(withHeapLimit(given, limit), given)
})

test('options of the user come last, so that they win, and a value from a secret stays', () => {
  const mine = { name: 'NODE_OPTIONS', value: '--use-system-ca --max-old-space-size=300' }
  assert.deepEqual(withHeapLimit([mine], '1Gi'), [
    {
      name: 'NODE_OPTIONS',
      value: '--max-old-space-size=416 --max-semi-space-size=32 --use-system-ca --max-old-space-size=300',
    },
  ])
  assert.deepEqual(withHeapLimit([mine], '1Gi', true), withHeapLimit([mine], '1Gi'))
  const secret = { name: 'NODE_OPTIONS', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }
  assert.deepEqual(withHeapLimit([secret], '1Gi'), [secret])
})

test('hands options of envFrom, which the heap limit overrides, to the process that warns about them', () => {
  assert.deepEqual(withHeapLimit([], '1Gi', true), [
    { name: 'KAFKA_BACKUP_OVERRIDDEN_NODE_OPTIONS', value: '$(NODE_OPTIONS)' },
    { name: 'NODE_OPTIONS', value: '--max-old-space-size=416 --max-semi-space-size=32' },
  ])
  assert.deepEqual(withHeapLimit([], undefined, true), [])
})
