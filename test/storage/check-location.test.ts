import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { checkLocation } from '../../src/storage/check-location.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'

const never = new AbortController().signal

describe('checking a folder', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    await mkdir(join(folder, 'real'))
    await writeFile(join(folder, 'file'), 'x')
    await symlink(join(folder, 'nowhere'), join(folder, 'dangling'))
    await symlink(join(folder, 'real'), join(folder, 'link'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const check = (path: string, isReadOnly = false) => {
    const opened = { options: { backend: 'filesystem' as const, path }, storage: openFilesystemStorage({ path }) }
    return checkLocation(opened, never, isReadOnly)
  }
  const create = (path: string) => openFilesystemStorage({ path }).create('a/b', Buffer.from('x'), never)

  for (const [name, path, why] of [
    ['a dangling link', 'dangling', /dangling is a symbolic link to a folder that does not exist/],
    ['a folder below such a link', 'dangling/sub', /dangling is a symbolic link to a folder that does not exist/],
    ['a file', 'file', /file is (a file, )?not a folder/],
    ['a folder below a file', 'file/sub', /file(\/sub)? is (a file, )?not a folder/],
  ] as const) {
    test(`fails for ${name}, as a write does`, async () => {
      const failed = (await check(join(folder, path))).filter(({ allowed }) => !allowed)
      assert.equal(failed.length, 1)
      assert.match(failed[0]?.detail ?? '', why)
      await assert.rejects(create(join(folder, path)), { code: 'LOCATION_INVALID', message: why })
    })
  }

  test('fails if the file system cannot create folders, and a write fails at once', { timeout: 20_000 }, async () => {
    const failed = (await check('/proc/backups/all')).filter(({ allowed }) => !allowed)
    assert.deepEqual(
      failed.map(({ action, detail }) => [action, detail]),
      [['write', 'no folder can be created in /proc: its file system does not allow it']],
    )
    await assert.rejects(create('/proc/backups/all'), { code: 'LOCATION_INVALID', message: /file system of \/proc/ })
  })

  test('only reads for a restore, whose folder has to exist', async () => {
    const path = join(folder, 'real')
    assert.deepEqual(await check(path, true), [{ action: 'read', allowed: true, detail: path }])
    const missing = join(folder, 'real', 'typo')
    const detail = `there is nothing at ${missing}. Correct the location`
    assert.deepEqual(await check(missing, true), [{ action: 'read', allowed: false, detail }])
  })

  test('shows the absolute path of a relative location', async () => {
    const [read] = await check(relative(process.cwd(), join(folder, 'real')))
    assert.equal(read?.detail, join(folder, 'real'))
  })

  test('passes for a folder, a link to one and one that is yet to be created, and leaves nothing behind', async () => {
    for (const path of ['real', 'link', 'real/new/folder']) {
      const checks = await check(join(folder, path))
      assert.deepEqual(
        checks.map(({ action, allowed }) => [action, allowed]),
        [
          ['read', true],
          ['write', true],
        ],
      )
    }
    assert.deepEqual(await readdir(join(folder, 'real')), [])
  })
})
