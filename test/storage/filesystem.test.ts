import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ErrorCode, KafkaBackupError } from '../../src/errors.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { type RetryNotice, withRetries } from '../../src/storage/retrying.ts'
import { recordFiles, systemError } from './recorded-files.ts'

const signal = new AbortController().signal
const body = Buffer.from('content')
let base = ''
let count = 0

before(async () => {
  base = await mkdtemp(join(tmpdir(), 'kafka-backup-filesystem-'))
})
after(() => rm(base, { recursive: true }))

function freshPath(): string {
  return join(base, `root-${++count}`)
}

test('opening and reading make nothing; the first write makes the root', async () => {
  const path = join(freshPath(), 'below')
  const storage = openFilesystemStorage({ path })
  assert.equal(await storage.stat('a', signal), undefined)
  for await (const _ of storage.list('', signal)) assert.fail('nothing is there')
  await storage.remove('a', signal)
  await assert.rejects(readdir(path), { code: 'ENOENT' })
  await storage.create('a', body, signal)
  assert.deepEqual(await readdir(path), ['a'])
})

test('an object is the plain file of its key, with nothing beside it', async () => {
  const path = freshPath()
  await openFilesystemStorage({ path, prefix: 'team' }).create('x/y.bin', body, signal)
  assert.deepEqual(await readFile(join(path, 'team/x/y.bin')), body)
  assert.deepEqual(await readdir(join(path, 'team/x')), ['y.bin'])
})

test('create makes the content durable before its name, and the name before it resolves', async () => {
  const { files, log } = recordFiles()
  const storage = openFilesystemStorage({ path: freshPath() }, files)
  await storage.create('t/first', body, signal)
  log.length = 0
  await storage.create('t/x.bin', body, signal)
  assert.deepEqual(log, [
    'open .tmp-',
    'writev .tmp-',
    'datasync .tmp-',
    'close .tmp-',
    'link x.bin',
    'unlink .tmp-',
    'open t',
    'sync t',
    'close t',
  ])
})

test('replace makes the content durable before it takes the name', async () => {
  const { files, log } = recordFiles()
  const storage = openFilesystemStorage({ path: freshPath() }, files)
  await storage.create('t/first', body, signal)
  log.length = 0
  await storage.replace('t/x.bin', body, signal)
  assert.deepEqual(log.slice(0, 5), ['open .tmp-', 'writev .tmp-', 'datasync .tmp-', 'close .tmp-', 'rename x.bin'])
  assert.deepEqual(log.slice(5), ['open t', 'sync t', 'close t'])
})

test('every new folder is made durable in the one above it, from the root down', async () => {
  const { files, log } = recordFiles()
  const path = join(freshPath(), 'up', 'root')
  await openFilesystemStorage({ path }, files).create('a/b/x', body, signal)
  const steps = log.filter(call => /^(sync|mkdir|link)/.test(call))
  const above = `root-${count}`
  const roots = [
    `mkdir ${above}`,
    `sync ${base.split('/').at(-1)}`,
    'mkdir up',
    `sync ${above}`,
    'mkdir root',
    'sync up',
  ]
  assert.deepEqual(steps, [...roots, 'mkdir a', 'sync root', 'mkdir b', 'sync a', 'link x', 'sync b'])
})

test('creates in one folder share the fsync of the folder', async () => {
  const { files, log } = recordFiles()
  const storage = openFilesystemStorage({ path: freshPath() }, files)
  await Promise.all(Array.from({ length: 64 }, (_, i) => storage.create(`t/${i}`, body, signal)))
  const syncs = log.filter(call => call === 'sync t').length
  assert.equal(log.filter(call => call.startsWith('link')).length, 64)
  assert.ok(syncs >= 1 && syncs <= 32, `${syncs} syncs for 64 objects`)
  assert.ok(log.lastIndexOf('sync t') > log.findLastIndex(call => call.startsWith('link')))
})

test('a write that the system takes in pieces is completed', async () => {
  const { files, log } = recordFiles(call => (call.startsWith('writev') ? 7 : undefined))
  const storage = openFilesystemStorage({ path: freshPath() }, files)
  const writer = await storage.openWriter('a', signal)
  const chunks = ['0123', '', '456789abcdefg', 'h', 'ijklmnopqrstuv', 'wxyz'].map(text => Buffer.from(text))
  await writer.write(chunks, signal)
  await writer.write(chunks, signal)
  await writer.commit(signal)
  assert.equal((await storage.read('a', signal)).toString(), '0123456789abcdefghijklmnopqrstuvwxyz'.repeat(2))
  assert.equal(log.filter(call => call.startsWith('writev')).length, 12)
})

for (const [errno, code] of [
  ['ENOSPC', 'STORAGE_FULL'],
  ['EDQUOT', 'STORAGE_FULL'],
  ['EIO', 'STORAGE_UNAVAILABLE'],
] as const) {
  for (const step of ['writev .tmp-', 'datasync .tmp-']) {
    test(`${errno} at ${step.split(' ')[0]} is ${code} and leaves no file behind`, async () => {
      const path = freshPath()
      const { files } = recordFiles(call => {
        if (call === step) throw systemError(errno)
        return undefined
      })
      const storage = openFilesystemStorage({ path }, files)
      await rejectsWith(storage.create('t/a', body, signal), code, /"t\/a" in .*root-/)
      await rejectsWith(storage.replace('t/a', body, signal), code, /"t\/a" in .*root-/)
      assert.deepEqual(await readdir(join(path, 't')), [])
    })
  }
}

test('after a failed fsync a commit fails for good, since the system may have dropped the data', async () => {
  const path = freshPath()
  let failures = 0
  const { files, log } = recordFiles(call => {
    if (call === 'datasync .tmp-' && ++failures === 1) throw systemError('EIO')
    return undefined
  })
  const writer = await openFilesystemStorage({ path }, files).openWriter('a', signal)
  await writer.write([body], signal)
  await rejectsWith(writer.commit(signal), 'STORAGE_UNAVAILABLE')
  await rejectsWith(writer.commit(signal), 'STORAGE_UNAVAILABLE')
  await writer.abort()
  assert.ok(!log.some(call => call.startsWith('link')))
  assert.deepEqual(await readdir(path), [])
})

test('a flush on the way that fails is not forgotten, however many succeed after it', async () => {
  const path = freshPath()
  let flushes = 0
  const { files, log } = recordFiles(call => {
    if (call === 'datasync .tmp-' && ++flushes === 1) throw systemError('EIO')
    return undefined
  })
  const writer = await openFilesystemStorage({ path }, files).openWriter('large', signal)
  const piece = Buffer.alloc(17 << 20)
  for (let i = 0; i < 3; i++) await writer.write([piece], signal)
  await rejectsWith(writer.commit(signal), 'STORAGE_UNAVAILABLE')
  await writer.abort()
  assert.equal(flushes, 1)
  assert.ok(!log.some(call => call.startsWith('link')))
  assert.deepEqual(await readdir(path), [])
})

test('a large object is flushed while it is written', async () => {
  const path = freshPath()
  const { files, log } = recordFiles()
  const writer = await openFilesystemStorage({ path }, files).openWriter('large', signal)
  await writer.write([Buffer.alloc(17 << 20)], signal)
  await writer.commit(signal)
  assert.equal(log.filter(call => call === 'datasync .tmp-').length, 2)
})

test('after a failed write a commit publishes nothing', async () => {
  const path = freshPath()
  let writes = 0
  const { files } = recordFiles(call => {
    if (call === 'writev .tmp-' && ++writes === 2) throw systemError('ENOSPC')
    return undefined
  })
  const storage = openFilesystemStorage({ path }, files)
  const writer = await storage.openWriter('a', signal)
  await writer.write([body], signal)
  await rejectsWith(writer.write([body], signal), 'STORAGE_FULL')
  await rejectsWith(writer.commit(signal), 'STORAGE_FULL')
  await writer.abort()
  assert.deepEqual(await readdir(path), [])
})

test('a commit whose folder fsync failed goes on from there when it is repeated', async () => {
  let syncs = 0
  const { files, log } = recordFiles(call => {
    if (call === 'sync t' && ++syncs === 1) throw systemError('EIO')
    return undefined
  })
  const storage = openFilesystemStorage({ path: freshPath() }, files)
  const writer = await storage.openWriter('t/a', signal)
  await writer.write([body], signal)
  await rejectsWith(writer.commit(signal), 'STORAGE_UNAVAILABLE')
  await writer.commit(signal)
  assert.deepEqual(await storage.read('t/a', signal), body)
  assert.equal(log.filter(call => call.startsWith('link')).length, 1)
  assert.equal(log.filter(call => call === 'sync t').length, 1)
})

test('a commit whose flush failed is not repeated, because the system may have dropped the bytes', async () => {
  const { files, log } = recordFiles(call => {
    if (call === 'datasync .tmp-') throw systemError('EIO')
    return undefined
  })
  const notices: RetryNotice[] = []
  const policy = { attempts: 4, baseDelayMs: 1, maxDelayMs: 1 }
  const storage = withRetries(openFilesystemStorage({ path: freshPath() }, files), policy, {
    onRetry: notice => notices.push(notice),
  })
  const writer = await storage.openWriter('t/a', signal)
  await writer.write([body], signal)
  await rejectsWith(writer.commit(signal), 'STORAGE_UNAVAILABLE')
  assert.deepEqual(notices, [])
  await writer.abort()
  assert.ok(!log.some(call => call.startsWith('link')))
})

test('a key is reported as taken only after its folder was made durable', async () => {
  const { files, log } = recordFiles()
  const storage = openFilesystemStorage({ path: freshPath() }, files)
  await storage.create('t/a', body, signal)
  log.length = 0
  await rejectsWith(storage.create('t/a', body, signal), 'STORAGE_EXISTS')
  assert.ok(log.includes('sync t'))
})

test('a link that took effect but was answered with EEXIST is known by its inode', async () => {
  const { files } = recordFiles()
  const lossy = {
    ...files,
    link: async (from: string, to: string) => {
      await files.link(from, to)
      throw systemError('EEXIST')
    },
  } as typeof files
  const storage = openFilesystemStorage({ path: freshPath() }, lossy)
  await storage.create('a', body, signal)
  assert.deepEqual(await storage.read('a', signal), body)
  await rejectsWith(storage.create('a', body, signal), 'STORAGE_EXISTS')
})

for (const errno of ['EPERM', 'ENOTSUP', 'EMLINK']) {
  test(`a file system without hard links (${errno}) is refused by name and keeps nothing`, async () => {
    const path = freshPath()
    const { files } = recordFiles(call => {
      if (call.startsWith('link')) throw systemError(errno)
      return undefined
    })
    const storage = openFilesystemStorage({ path }, files)
    await rejectsWith(storage.create('a', body, signal), 'LOCATION_INVALID', /root-\d+\/a does not support hard links/)
    assert.deepEqual(await readdir(path), [])
  })
}

test('a file system that cannot fsync folders is used without', async () => {
  const { files } = recordFiles(call => {
    if (call.startsWith('sync')) throw systemError('EINVAL')
    return undefined
  })
  const storage = openFilesystemStorage({ path: freshPath() }, files)
  await storage.create('t/a', body, signal)
  assert.deepEqual(await storage.read('t/a', signal), body)
})

test('a file beyond the size limit of the process is STORAGE_FULL, and its part is removed', async () => {
  const path = freshPath()
  const script = `
    import { openFilesystemStorage } from ${JSON.stringify(new URL('../../src/storage/file/filesystem.ts', import.meta.url).href)}
    const storage = openFilesystemStorage({ path: ${JSON.stringify(path)} })
    const error = await storage.create('t/a', Buffer.alloc(300_000), new AbortController().signal).catch(e => e)
    process.stdout.write(String(error.code))`
  const limited = ['-c', 'ulimit -f 200; exec "$0" --input-type=module -e "$1"', process.execPath, script]
  assert.equal(execFileSync('/bin/sh', limited).toString(), 'STORAGE_FULL')
  assert.deepEqual(await readdir(join(path, 't')), [])
})

test('a location where no folder may be made is STORAGE_DENIED', async () => {
  const storage = openFilesystemStorage({ path: '/sys/kafka-backup-test' })
  await rejectsWith(storage.create('a', body, signal), 'STORAGE_DENIED', /"a" in \/sys\/kafka-backup-test/)
})

test('a location that is a file, or below one, is LOCATION_INVALID for every call', async () => {
  const file = freshPath()
  await writeFile(file, 'x')
  for (const path of [file, join(file, 'below')]) {
    const storage = openFilesystemStorage({ path })
    await rejectsWith(storage.create('a', body, signal), 'LOCATION_INVALID', /is not a folder/)
    await rejectsWith(storage.read('a', signal), 'LOCATION_INVALID', /is not a folder/)
    await rejectsWith(storage.stat('a', signal), 'LOCATION_INVALID', /is not a folder/)
    await rejectsWith(storage.list('', signal)[Symbol.asyncIterator]().next(), 'LOCATION_INVALID', /is not a folder/)
  }
})

test('a key below an object, and one that is a folder, cannot be written', async () => {
  const storage = openFilesystemStorage({ path: freshPath() })
  await storage.create('a/b', body, signal)
  await rejectsWith(storage.create('a/b/c', body, signal), 'LOCATION_INVALID')
  await rejectsWith(storage.create('a', body, signal), 'STORAGE_EXISTS')
  await rejectsWith(storage.replace('a', body, signal), 'LOCATION_INVALID')
})

test('symbolic links below the location are neither listed nor followed', async () => {
  const path = freshPath()
  const outside = freshPath()
  await mkdir(join(path, 'in'), { recursive: true })
  await mkdir(outside)
  await writeFile(join(outside, 'secret'), 'secret')
  await symlink(outside, join(path, 'folder'))
  await symlink(join(outside, 'secret'), join(path, 'in/file'))
  const storage = openFilesystemStorage({ path })

  for await (const object of storage.list('', signal)) assert.fail(`${object.key} was listed`)
  const folders: string[] = []
  for await (const folder of storage.listFolders('', signal)) folders.push(folder)
  assert.deepEqual(folders, ['in'])
  for (const key of ['folder/secret', 'in/file']) {
    await rejectsWith(storage.read(key, signal), 'LOCATION_INVALID', /symbolic link/)
  }
  await rejectsWith(storage.stat('folder/secret', signal), 'LOCATION_INVALID')
  await rejectsWith(storage.remove('folder/secret', signal), 'LOCATION_INVALID')
  await rejectsWith(storage.create('folder/new', body, signal), 'LOCATION_INVALID')
  await rejectsWith(storage.create('in/file', body, signal), 'STORAGE_EXISTS')
  await storage.replace('in/file', body, signal)
  assert.deepEqual(await readdir(outside), ['secret'])
  assert.equal((await readFile(join(outside, 'secret'))).toString(), 'secret')
})

test('the location itself may be a symbolic link', async () => {
  const real = freshPath()
  const path = freshPath()
  await mkdir(real)
  await symlink(real, path)
  const storage = openFilesystemStorage({ path })
  await storage.create('t/a', body, signal)
  assert.deepEqual(await storage.read('t/a', signal), body)
  assert.deepEqual(await readdir(join(real, 't')), ['a'])
})

test('files that a dead run left and names that are no keys are not listed', async () => {
  const path = freshPath()
  const storage = openFilesystemStorage({ path })
  await storage.create('t/a', body, signal)
  await writeFile(join(path, 't', '.tmp-0123456789'), 'half')
  await writeFile(join(path, 't', 'with\nnewline'), 'x')
  await mkdir(join(path, 'lost+found'))
  await writeFile(join(path, 'lost+found', '#1'), 'x')
  execFileSync('mkfifo', [join(path, 't', 'pipe')])
  const keys: string[] = []
  for await (const object of storage.list('', signal)) keys.push(object.key)
  assert.deepEqual(keys, ['t/a'])
  for await (const folder of storage.listFolders('', signal)) assert.equal(folder, 't')
  await rejectsWith(storage.read('t/pipe', signal), 'STORAGE_NOT_FOUND')
})

test('removing the last object removes its empty folders, but never the location', async () => {
  const path = freshPath()
  const storage = openFilesystemStorage({ path })
  await storage.create('a/b/c/x', body, signal)
  await storage.create('a/y', body, signal)
  await storage.remove('a/b/c/x', signal)
  assert.deepEqual(await readdir(join(path, 'a')), ['y'])
  await storage.remove('a/y', signal)
  assert.deepEqual(await readdir(path), [])
})

test('a folder that another process removed is made again', async () => {
  const path = freshPath()
  const storage = openFilesystemStorage({ path })
  await storage.create('a/b/x', body, signal)
  await rm(join(path, 'a'), { recursive: true })
  await storage.create('a/b/y', body, signal)
  await rm(path, { recursive: true })
  await storage.create('a/b/z', body, signal)
  assert.deepEqual(await readdir(join(path, 'a/b')), ['z'])
})

test('closing aborts the writers that are open', async () => {
  const path = freshPath()
  const storage = openFilesystemStorage({ path })
  const writer = await storage.openWriter('a', signal)
  await writer.write([body], signal)
  assert.equal((await readdir(path)).length, 1)
  await storage.close()
  assert.deepEqual(await readdir(path), [])
})

test('a burst of two thousand small objects is stored in seconds', async () => {
  const storage = openFilesystemStorage({ path: freshPath() })
  const start = performance.now()
  const next = Array.from({ length: 2_000 }).keys()
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const i of next) await storage.create(`t/${i % 40}/${i}`, Buffer.alloc(0), signal)
    }),
  )
  assert.ok(performance.now() - start < 60_000)
})

async function rejectsWith(call: Promise<unknown>, code: ErrorCode, message = /./): Promise<void> {
  await assert.rejects(call, error => {
    assert.ok(error instanceof KafkaBackupError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, message)
    return true
  })
}

describe('permissions', () => {
  const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

  test('only the owner may read and write by default', async () => {
    const path = freshPath()
    await openFilesystemStorage({ path }).create('a/b.bin', body, signal)
    assert.deepEqual(await Promise.all([path, join(path, 'a'), join(path, 'a/b.bin')].map(modeOf)), [
      '700',
      '700',
      '600',
    ])
  })

  test('file_mode is kept whatever the umask is, with folders that can be entered', async () => {
    const path = freshPath()
    const before = process.umask(0o077)
    try {
      const storage = openFilesystemStorage({ path, prefix: 'team/kafka', fileMode: '0640' })
      await storage.create('a/b.bin', body, signal)
      await storage.replace('a/c.bin', body, signal)
    } finally {
      process.umask(before)
    }
    const root = join(path, 'team/kafka')
    const folders = [path, join(path, 'team'), root, join(root, 'a')]
    assert.deepEqual(await Promise.all(folders.map(modeOf)), ['750', '750', '750', '750'])
    assert.deepEqual(await Promise.all([join(root, 'a/b.bin'), join(root, 'a/c.bin')].map(modeOf)), ['640', '640'])
  })
})
