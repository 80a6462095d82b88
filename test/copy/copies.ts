import assert from 'node:assert/strict'
import { listGenerations, readManifest } from '../../src/archive/catalog.ts'
import { hashOf } from '../../src/archive/hash.ts'
import { indexRefsOf, readIndex } from '../../src/archive/indexes.ts'
import { objectsOf } from '../../src/archive/named-objects.ts'
import { copyBackup } from '../../src/copy/copy-backup.ts'
import type { CopyOptions, Sides } from '../../src/copy/sides.ts'
import { never } from '../archive/sample-archive.ts'
import type { MemoryStorage } from '../fakes/memory-storage.ts'

export const plain: CopyOptions = {
  generation: undefined,
  verifyExisting: false,
  dryRun: false,
  onProgress: () => undefined,
}

export function copy(sides: Sides, options: Partial<CopyOptions> = {}, signal = never) {
  return copyBackup(sides, 'b1', { ...plain, ...options }, signal)
}

/** Every generation that can be seen at the target names only objects that are there, with their bytes. */
export async function assertWhole(target: MemoryStorage): Promise<number[]> {
  const generations = await listGenerations(target, 'b1', never)
  for (const generation of generations) {
    const manifest = await readManifest(target, 'b1', generation, never)
    const indexes = await Promise.all(indexRefsOf(manifest).map(ref => readIndex(target, ref, never)))
    for (const { key, size, blake3 } of objectsOf(manifest, indexes)) {
      const body = target.objects.get(key) ?? assert.fail(`${key} of generation ${generation} is missing`)
      assert.deepEqual([body.length, hashOf(body)], [size, blake3], key)
    }
  }
  return generations
}

export function assertSameObjects(source: MemoryStorage, target: MemoryStorage): void {
  assert.deepEqual([...target.objects.keys()].sort(), [...source.objects.keys()].sort())
  for (const [key, body] of source.objects) assert.ok(target.objects.get(key)?.equals(body), key)
}
