import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashOf } from '../../src/archive/hash.ts'
import { indexRefsOf, readIndex } from '../../src/archive/indexes.ts'
import { objectsOf } from '../../src/archive/named-objects.ts'
import { storeGenerations } from '../copy/sample-history.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { never } from './sample-archive.ts'

test('the generations of a backup name every object of it besides the manifests and the copies of the newest, with size and hash', async () => {
  const storage = openMemoryStorage()
  const named = new Set<string>()
  for (const manifest of await storeGenerations(storage, 3)) {
    const indexes = await Promise.all(indexRefsOf(manifest).map(ref => readIndex(storage, ref, never)))
    for (const { key, size, blake3 } of objectsOf(manifest, indexes)) {
      const body = storage.objects.get(key) ?? assert.fail(`${key} is not there`)
      assert.deepEqual([body.length, hashOf(body)], [size, blake3], key)
      named.add(key)
    }
  }
  const others = [...storage.objects.keys()].filter(
    key => !/^b1\/(manifest|schema-registry\/(?!generations\/))/.test(key),
  )
  assert.ok(others.length > 15)
  assert.deepEqual([...named].sort(), others.sort())
})

test('segments come before what names them', async () => {
  const storage = openMemoryStorage()
  const [manifest] = await storeGenerations(storage, 1)
  if (!manifest) assert.fail()
  const indexes = await Promise.all(indexRefsOf(manifest).map(ref => readIndex(storage, ref, never)))
  const kinds = [...objectsOf(manifest, indexes)].map(
    ({ key }) => /\.log$|index-|groups-|schema-registry/.exec(key)?.[0],
  )
  assert.deepEqual(kinds.slice(0, 4), ['.log', '.log', 'index-', 'index-'])
  assert.deepEqual(new Set(kinds.slice(4)), new Set(['schema-registry', 'groups-']))
})
