import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import * as layout from '../../src/archive/layout.ts'
import { keysKey } from '../../src/encryption/keys-file.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { maxBytesOf } from '../../src/storage/object-limits.ts'

const MiB = 1024 ** 2
const place = { backupId: 'b', topic: 'orders', partition: 0 }
const limits: [key: string, maxMiB: number][] = [
  [layout.manifestKey('b', 1), 256],
  [layout.manifestCopyKey('b'), 256],
  [layout.prunedMarkKey('b'), 256],
  [layout.indexKey(place, 1, 'run'), 128],
  [layout.groupsKey('b', 1, 'run'), 256],
  [layout.accessKey('b', 1, 'run'), 128],
  [layout.shardKey({ backup_id: 'b', generation: 1, shard: 0, shards: 2 }, 'run-1'), 256],
  [layout.registryKey('b', layout.registryFile(1, 'run', 'subjects/s/v1.avsc')), 256],
  [layout.registryCopiesKey('b'), 256],
  [`${layout.restoresPrefix('b')}registry-0/2026.json`, 256],
  [layout.leaseKey('b', 'run'), 1],
  [layout.writerLeaseKey('.registry-0', 1), 1],
  [keysKey('b', 1), 16],
  [keysKey('offset-snapshots', 1), 16],
  ['offset-snapshots/20260101t000000z-00000000.json', 256],
]

test('every class of documents has a limit', () => {
  assert.deepEqual(
    limits.map(([key]) => [key, maxBytesOf(key) / MiB]),
    limits,
  )
})

test('a document of any size in a folder is refused without memory for it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'limits-'))
  const storage = openFilesystemStorage({ path: folder })
  const signal = new AbortController().signal
  try {
    for (const [key, maxMiB] of limits) {
      const path = join(folder, key)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, '')
      // Sparse: it occupies nothing on the disk.
      truncateSync(path, 2 ** 40)
      await assert.rejects(storage.read(key, signal), {
        code: 'ARCHIVE_DAMAGED',
        message: new RegExp(`it has ${2 ** 40} bytes, and .+ has at most ${maxMiB * MiB}$`),
      })
    }
  } finally {
    await storage.close()
    rmSync(folder, { recursive: true })
  }
})
