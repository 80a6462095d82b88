import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { MissingServer, requirePermission } from './building.ts'
import { makeGuardedFolder } from './guard.ts'
import type { NeededServer } from './needed-servers.ts'
import { neededServers } from './needed-servers.ts'
import { provideServers } from './provide-servers.ts'
import { mustRun, runCommand } from './run-command.ts'

let folder: Awaited<ReturnType<typeof makeGuardedFolder>>
let output: string

describe('servers that tests use', () => {
  beforeEach(async () => {
    folder = await makeGuardedFolder('provide')
    output = ''
  })
  afterEach(() => folder.remove())

  const run = (servers: readonly NeededServer[]) =>
    provideServers(servers, {
      cache: folder.path,
      write: text => {
        output += text
      },
    })

  /** A server that is a file. */
  function serverOf(name: string, build: (path: string) => Promise<void> = path => writeFile(path, '')): NeededServer {
    const path = join(folder.path, name)
    const provide = async () => {
      if (existsSync(path)) return
      requirePermission(`${name} is missing`)
      await build(path)
    }
    return { name, action: 'build', tools: [], users: ['test'], provide }
  }

  test('provides what is missing with a line of progress each, and finds it ready the next time', async () => {
    const servers = [serverOf('first'), serverOf('second')]
    await servers[0]?.provide().catch(error => assert.ok(error instanceof MissingServer))
    await run(servers)
    assert.match(output, /^first: build … \d+ s\nsecond: build … \d+ s\n$/)
    output = ''
    await run(servers)
    assert.equal(output, 'first: ready\nsecond: ready\n')
  })

  test('two at the same time build one thing at a time, and each only once', async () => {
    let running = 0
    const most: number[] = []
    const slowly = async (path: string) => {
      most.push(++running)
      await new Promise(resolve => setTimeout(resolve, 100))
      await writeFile(path, '')
      running--
    }
    const servers = [serverOf('first', slowly), serverOf('second', slowly)]
    await Promise.all([run(servers), run(servers)])
    assert.deepEqual(most, [1, 1])
  })

  test('a failure names the server and its cause', async () => {
    const failing = serverOf('broken', () => Promise.reject(new Error('no such version')))
    await assert.rejects(run([failing, serverOf('next')]), /^Error: broken could not be provided: no such version$/)
    assert.equal(output, 'broken: build … failed\n')
  })

  test('names every tool that is missing before it builds anything', async () => {
    const PATH = process.env.PATH
    const bin = join(folder.path, 'bin')
    await mustRun('sh', ['-c', 'mkdir "$1" && ln -s "$(command -v sh)" "$1/sh"', 'sh', bin])
    process.env.PATH = bin
    try {
      const needs = (name: string, tools: NeededServer['tools']): NeededServer => ({ ...serverOf(name), tools })
      const expected = /^Error: install these first: mvn \(Maven\), go \(Go 1\.26 or later\)$/
      await assert.rejects(run([needs('jars', ['mvn']), needs('program', ['go', 'mvn'])]), expected)
      assert.equal(output, '')
    } finally {
      process.env.PATH = PATH
    }
  })

  test('a test that does not find a server fails at once and names the command', async () => {
    const script = `
    const { startKafka } = await import(${JSON.stringify(join(import.meta.dirname, 'kafka.ts'))})
    await startKafka()`
    const env = { ...process.env, XDG_CACHE_HOME: folder.path }
    const { stderr, exitCode } = await runCommand(process.execPath, ['--input-type=module', '-e', script], { env })
    assert.notEqual(exitCode, 0)
    assert.match(stderr, /MissingServer: \S+ is missing: run `make servers`/)
    assert.ok(!existsSync(join(folder.path, 'kafka-backup-dev')), 'nothing is built')
  })

  test('what this machine cannot run is not provided, and the reason is printed', async () => {
    let calls = 0
    const count = async () => void calls++
    await run([{ ...serverOf('node', count), obstacle: () => 'it needs root' }])
    assert.deepEqual([calls, output], [0, 'node: not needed, this machine runs no Kubernetes node: it needs root\n'])
  })

  test('a user without the rights of root cannot run a Kubernetes node', async () => {
    const script = `
    const { findNodeObstacle } = await import(${JSON.stringify(join(import.meta.dirname, 'node/obstacle.ts'))})
    if (process.getuid() === 0) process.setuid(65534)
    process.stdout.write(findNodeObstacle())`
    const { stdout } = await runCommand(process.execPath, ['--input-type=module', '-e', script])
    assert.equal(stdout, 'it needs root')
  })

  test('the demo waits for no build with Go', () => {
    const demo = neededServers.filter(({ users }) => users.includes('demo'))
    assert.ok(demo.length > 0)
    assert.deepEqual(
      demo.filter(({ tools }) => tools.includes('go')),
      [],
    )
  })
})
