import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseManifest } from '../../src/archive/manifest.ts'
import { sealJson } from '../../src/archive/seal.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { indexAt, never, storeBackup } from './sample-archive.ts'

const verify = (storage: MemoryStorage, deep: boolean, onProgress: (event: ProgressEvent) => void = () => undefined) =>
  verifyBackup(storage, 'b1', { deep, onProgress }, never)

// Batches of one size, so that they can change places.
const lists = [
  [encodeRun(0n, 3), encodeRun(3n, 3), encodeRun(6n, 3)],
  [encodeRun(9n, 3), encodeRun(12n, 3)],
]
const firstKey = 'b1/kafka/orders/0/0.log'

async function damaged(compressed: boolean, damage: (body: Buffer, storage: MemoryStorage) => Buffer | undefined) {
  const storage = openMemoryStorage()
  await storeBackup(storage, lists, compressed)
  const body = damage(Buffer.from(storage.objects.get(firstKey) ?? Buffer.alloc(0)), storage)
  if (body) storage.objects.set(firstKey, body)
  else storage.objects.delete(firstKey)
  return storage
}

describe('a backup that is whole', () => {
  for (const compressed of [false, true]) {
    test(`passes, ${compressed ? 'compressed' : 'plain'}, quickly and deeply`, async () => {
      const storage = openMemoryStorage()
      await storeBackup(storage, lists, compressed)
      for (const deep of [false, true]) {
        const events: ProgressEvent[] = []
        const report = await verify(storage, deep, event => events.push(event))
        assert.deepEqual([report.problems, report.warnings, report.ok], [[], [], true])
        assert.deepEqual([report.objects, report.partitions, report.records, report.deep], [4, 1, 15, deep])
        const last = events.at(-1)
        assert.equal(events.length, deep ? 2 : 0)
        if (last?.type === 'checked') assert.deepEqual([last.objects, last.bytes], [last.totalObjects, last.totalBytes])
      }
    })
  }

  test('warns of a copy that is old or gone', async () => {
    const storage = openMemoryStorage()
    await storeBackup(storage, lists)
    const first = storage.objects.get('b1/manifests/00000001.json') ?? assert.fail()
    storage.objects.set('b1/manifests/00000002.json', sealJson({ ...parseManifest(first, 'first'), generation: 2 }))
    for (const remove of [false, true]) {
      if (remove) storage.objects.delete('b1/manifest.json')
      const report = await verify(storage, false)
      assert.match(report.warnings.join(), /manifest\.json is not a copy/)
      assert.deepEqual([report.warnings.length, report.ok], [1, true])
    }
  })
})

test('a newest generation that was removed is missed, because its copy tells of it', async () => {
  const storage = openMemoryStorage()
  await storeBackup(storage, lists)
  const first = storage.objects.get('b1/manifests/00000001.json') ?? assert.fail()
  const second = sealJson({ ...parseManifest(first, 'first'), generation: 2 })
  storage.objects.set('b1/manifest.json', second)
  const { ok, problems } = await verify(storage, false)
  assert.deepEqual([ok, problems.map(({ key }) => key)], [false, ['b1/manifests/00000002.json']])
})

test('a copy that was changed is damage, though nothing is read from it', async () => {
  const storage = openMemoryStorage()
  await storeBackup(storage, lists)
  const text = String(storage.objects.get('b1/manifest.json'))
  for (const changed of ['{}', text.replace('"run": "', '"run": "x'), text.slice(0, -1)]) {
    storage.objects.set('b1/manifest.json', Buffer.from(changed))
    const { ok, problems } = await verify(storage, false)
    assert.deepEqual([ok, problems.map(({ key }) => key)], [false, ['b1/manifest.json']])
  }
})

describe('a quick look finds', () => {
  const rows: [name: string, damage: (body: Buffer) => Buffer | undefined, problem: RegExp][] = [
    ['a segment that is missing', () => undefined, /the object is missing/],
    ['a segment that is shorter', body => body.subarray(1), /it has \d+ bytes instead of \d+/],
    ['a segment that is longer', body => Buffer.concat([body, Buffer.from('x')]), /it has \d+ bytes instead of \d+/],
    ['a segment that is empty', () => Buffer.alloc(0), /it has 0 bytes/],
  ]
  for (const [name, damage, problem] of rows) {
    test(name, async () => {
      for (const deep of [false, true]) {
        const { ok, problems } = await verify(await damaged(false, damage), deep)
        assert.equal(ok, false)
        assert.equal(problems.length, 1)
        assert.deepEqual([problems[0]?.key, problem.test(problems[0]?.problem ?? '')], [firstKey, true])
      }
    })
  }

  test('an index that was changed or is missing, and goes on with the rest', async () => {
    for (const damage of ['flip', 'remove'] as const) {
      const storage = openMemoryStorage()
      const manifest = await storeBackup(storage, lists)
      const key = manifest.topics[0]?.partitions[0]?.indexes[0]?.key ?? ''
      const body = storage.objects.get(key)
      if (damage === 'remove') storage.objects.delete(key)
      else if (body) body[50] = (body[50] ?? 0) ^ 1
      const report = await verify(storage, true)
      assert.deepEqual(
        report.problems.map(one => one.key),
        [key],
      )
    }
  })

  test('two problems at once', async () => {
    const storage = openMemoryStorage()
    await storeBackup(storage, lists)
    storage.objects.delete(firstKey)
    storage.objects.set('b1/kafka/orders/0/1.log', Buffer.from('short'))
    assert.deepEqual(
      (await verify(storage, false)).problems.map(one => one.key),
      [firstKey, 'b1/kafka/orders/0/1.log'],
    )
  })
})

for (const compressed of [false, true]) {
  describe(`a deep look at ${compressed ? 'compressed' : 'plain'} segments finds`, () => {
    test('a change of any single byte', async () => {
      const storage = openMemoryStorage()
      await storeBackup(storage, lists, compressed)
      const body = storage.objects.get(firstKey) ?? Buffer.alloc(0)
      for (let at = 0; at < body.length; at++) {
        const change = [0x01, 0x80, 0xff][at % 3] ?? 0
        body[at] = (body[at] ?? 0) ^ change
        const { problems } = await verify(storage, true)
        body[at] = (body[at] ?? 0) ^ change
        assert.ok(problems.length > 0, `byte ${at} ^ ${change}`)
        assert.ok(problems.every(({ key }) => key === firstKey))
      }
      assert.deepEqual((await verify(storage, true)).problems, [])
    })

    test('two batches or frames of equal size that changed places', async () => {
      const storage = openMemoryStorage()
      const many = Array.from({ length: 30 }, (_, i) => encodeRun(BigInt(i), 1))
      const manifest = await storeBackup(storage, [many], compressed)
      const [ref] = manifest.topics[0]?.partitions[0]?.indexes ?? []
      assert.ok(ref)
      const [segment] = (await indexAt(storage, ref)).segments
      const sizes = segment?.frames?.map(([stored]) => stored) ?? many.map(batch => batch.length)
      const first = sizes.findIndex((size, i) => size === sizes[i + 1])
      const size = sizes[first] ?? assert.fail('no two frames have one size')
      const start = sizes.slice(0, first).reduce((sum, one) => sum + one, 0)
      const body = storage.objects.get(firstKey) ?? Buffer.alloc(0)
      const moved = Buffer.from(body.subarray(start, start + size))
      body.copyWithin(start, start + size, start + 2 * size)
      moved.copy(body, start + size)
      assert.ok((await verify(storage, true)).problems.length > 0)
    })

    test('another segment in its place', async () => {
      const storage = openMemoryStorage()
      await storeBackup(
        storage,
        [lists[1] ?? [], lists[1] ?? []].map((_, i) => [encodeRun(BigInt(i * 3), 3)]),
        compressed,
      )
      const other = storage.objects.get('b1/kafka/orders/0/1.log') ?? Buffer.alloc(0)
      storage.objects.set(firstKey, Buffer.from(other))
      assert.ok((await verify(storage, true)).problems.length > 0)
    })

    test('a truncation that keeps the size, at any place', async () => {
      for (const share of [0, 0.1, 0.5, 0.9]) {
        const storage = await damaged(compressed, body => {
          body.fill(0, Math.floor(body.length * share))
          return body
        })
        assert.ok((await verify(storage, true)).problems.length > 0, `zeros from ${share}`)
      }
    })
  })
}

test('a deep look says which batch is damaged', async () => {
  const storage = await damaged(false, body => {
    body[body.length - 3] = (body[body.length - 3] ?? 0) ^ 1
    return body
  })
  const { problems } = await verify(storage, true)
  assert.ok(problems.some(({ problem }) => problem === 'the batch at offset 6 has a wrong CRC-32C'))
  assert.ok(problems.some(({ problem }) => /BLAKE3/.test(problem)))
})
