import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { MissingServer, permitBuilding } from './building.ts'
import { cacheRoot, cached as findCached } from './cache.ts'
import { mustRun } from './run-command.ts'

const userCache = process.env.XDG_CACHE_HOME
let home = ''

const cached = (name: string, build: (dir: string) => Promise<void>) => permitBuilding(() => findCached(name, build))

describe('the cache of servers', () => {
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'kafka-backup-cache-'))
    process.env.XDG_CACHE_HOME = home
  })

  afterEach(async () => {
    if (userCache === undefined) delete process.env.XDG_CACHE_HOME
    else process.env.XDG_CACHE_HOME = userCache
    await rm(home, { recursive: true })
  })

  test('builds a folder once and finds it again', async () => {
    let builds = 0
    const build = async (dir: string) => {
      builds++
      await writeFile(join(dir, 'content'), 'built')
    }
    const [one, other] = await Promise.all([cached('thing-1', build), cached('thing-1', build)])
    assert.equal(await cached('thing-1', build), one)
    assert.equal(other, one)
    assert.equal(one, join(home, 'kafka-backup-dev', 'thing-1'))
    assert.equal(await readFile(join(one, 'content'), 'utf8'), 'built')
    assert.equal(builds, 1)
  })

  test('builds nothing without permission', async () => {
    let builds = 0
    const build = async () => void builds++
    await assert.rejects(findCached('thing-5', build), MissingServer)
    assert.equal(builds, 0)
    const built = await cached('thing-5', build)
    assert.equal(await findCached('thing-5', build), built)
    assert.equal(builds, 1)
  })

  test('leaves nothing behind when a build fails, and builds again on the next call', async () => {
    const failing = async (dir: string) => {
      await writeFile(join(dir, 'half'), '')
      throw new Error('no network')
    }
    await assert.rejects(cached('thing-2', failing), /no network/)
    assert.deepEqual(await readdir(cacheRoot()), [])
    assert.ok(existsSync(await cached('thing-2', async () => {})))
  })

  test('two processes that build the same folder at once both get the whole of it', async () => {
    const script = `
    import { cached } from ${JSON.stringify(join(import.meta.dirname, 'cache.ts'))}
    import { permitBuilding } from ${JSON.stringify(join(import.meta.dirname, 'building.ts'))}
    import { writeFile } from 'node:fs/promises'
    const dir = await permitBuilding(() => cached('thing-3', async dir => {
      await writeFile(dir + '/first', '1')
      await new Promise(resolve => setTimeout(resolve, 500))
      await writeFile(dir + '/second', '2')
    }))
    const { readdirSync } = await import('node:fs')
    process.stdout.write(readdirSync(dir).join())`
    const run = () => mustRun(process.execPath, ['--input-type=module', '-e', script], { env: process.env })
    assert.deepEqual(await Promise.all([run(), run()]), ['first,second', 'first,second'])
    assert.deepEqual(await readdir(cacheRoot()), ['thing-3'])
  })

  test('sweeps what a killed builder left behind and spares a live one', async () => {
    await mkdir(cacheRoot(), { recursive: true })
    await mkdir(join(cacheRoot(), 'dead-1.building-4194399'))
    await mkdir(join(cacheRoot(), `live-1.building-${process.ppid}`))
    await cached('thing-4', async () => {})
    assert.deepEqual((await readdir(cacheRoot())).sort(), [`live-1.building-${process.ppid}`, 'thing-4'])
  })
})
