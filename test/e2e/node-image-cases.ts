import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { baseImages } from '../servers/node/base-images.ts'
import { readImageArchive } from '../servers/node/image-archive.ts'
import { restrictedPod } from '../servers/node/pods.ts'
import { nodeImages } from '../servers/node/product-image.ts'
import type { NodeWorld } from './node-world.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const { version, dependencies, devDependencies } = read('package.json')
/** Some tools of the project come with what it needs at run time as well. */
const { packages } = read('package-lock.json') as { packages: Record<string, { dev?: boolean }> }
const toolsOnly = Object.keys(devDependencies).filter(name => packages[`node_modules/${name}`]?.dev === true)
const program = ['/usr/local/bin/node', '/app/bin/kafka-backup.js']

/** What the image of the project contains, and that any user can run it. */
export function addNodeImageCases(world: NodeWorld): void {
  test('a user that the image does not know starts the program and the operator', async () => {
    // As OpenShift chooses it: a number from a range of the namespace, in the group of root.
    const user = { runAsUser: 1_000_650_000, runAsGroup: 0 }
    const commands = [
      ['--version'],
      ['--help'],
      ['operator', '--help'],
      ['operator', '--job-image', 'x', '--namespace', 'y'],
    ]
    const script = `
      const { spawnSync } = require('node:child_process')
      const run = args => spawnSync(${JSON.stringify(program[0])}, [${JSON.stringify(program[1])}, ...args], { encoding: 'utf8' })
      const ran = ${JSON.stringify(commands)}.map(run).map(({ stdout, stderr, status }) => ({ stdout, stderr, status }))
      console.log(JSON.stringify(ran))`
    const securityContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' }, ...user }
    const spec = restrictedPod({ command: ['/usr/local/bin/node', '--eval', script] }, { securityContext })
    const [shown, help, operator, started] = JSON.parse(await world.runPod('unknown-user', spec)) as Ran[]
    assert.deepEqual([shown?.status, shown?.stdout.trim(), shown?.stderr], [0, version, ''])
    assert.match(help?.stdout ?? '', /Usage: kafka-backup/)
    assert.match(operator?.stdout ?? '', /--all-namespaces/)
    // It has no token of a service account, and gets as far as to notice that.
    assert.match(started?.stderr ?? '', /KUBE_CONFIG/)
  })

  test('the image has a numeric user, the program as entry point and the version of the package', async () => {
    const { config } = await readImageArchive((await nodeImages()).product)
    assert.match(config.User, /^[1-9]\d*:[1-9]\d*$/)
    assert.deepEqual([config.Entrypoint, config.Cmd], [program, ['--help']])
    const label = (name: string) => config.Labels[`org.opencontainers.image.${name}`]
    assert.deepEqual([label('version'), label('licenses')], [version, 'Apache-2.0'])
    assert.equal(label('base.name'), baseImages.BASE_IMAGE)
  })

  test('the image contains only what it needs at run time, and its user owns no file', async () => {
    const { files } = await readImageArchive((await nodeImages()).product)
    const regular = files.filter(({ mode }) => mode.startsWith('-'))
    assert.deepEqual(
      regular.filter(({ owner, mode }) => owner !== '0/0' || /^.{5}w|^.{8}w/.test(mode)),
      [],
    )
    const outside = regular.map(({ path }) => path).filter(path => !path.startsWith('/app/'))
    assert.deepEqual(outside, ['/usr/local/bin/node'])
    assert.deepEqual(
      regular.filter(({ path }) => /\.([cm]?ts|map|tgz)$/.test(path)),
      [],
    )
    const modules = files.map(({ path }) => path).filter(path => path.startsWith('/app/node_modules/'))
    const installed = new Set(modules.map(path => path.slice('/app/node_modules/'.length)).map(packageOf))
    for (const name of Object.keys(dependencies)) assert.ok(installed.has(name), name)
    assert.ok(toolsOnly.length > 0)
    for (const name of toolsOnly) assert.ok(!installed.has(name), name)
  })
}

interface Ran {
  stdout: string
  stderr: string
  status: number
}

/** `@scope/name` or `name` of a path below `node_modules`. */
function packageOf(path: string): string {
  const [first = '', second = ''] = path.split('/')
  return first.startsWith('@') ? join(first, second) : first
}
