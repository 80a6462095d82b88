import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { importJob } from '../../src/jobs/import.ts'
import { withFolder } from '../e2e/backup-job.ts'

test('an import that cannot begin leaves no folder at the target', () =>
  withFolder(async folder => {
    const [from, to] = [join(folder, 'from'), join(folder, 'to')]
    await mkdir(join(from, 'orders'), { recursive: true })
    const attempt = () =>
      importJob({ from, to, backupId: 'orders' }, { onProgress: () => undefined }, new AbortController().signal)
    await assert.rejects(attempt(), { code: 'STORAGE_NOT_FOUND' })
    await writeFile(join(from, 'orders/manifest.json'), '{')
    await assert.rejects(attempt(), { code: 'ARCHIVE_DAMAGED' })
    assert.deepEqual(await readdir(folder), ['from'])
  }))
