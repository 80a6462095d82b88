import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { after, before, test } from 'node:test'
import { parseDockerfile } from '../servers/dockerfile.ts'
import { makeGuardedFolder } from '../servers/guard.ts'
import { type BuiltImage, buildImage } from '../servers/image-build.ts'
import { runImage } from '../servers/image-run.ts'
import { npmCache, offlineNpm } from '../servers/npm-cache.ts'

const root = resolve(import.meta.dirname, '../..')
const dockerfile = join(root, 'deploy/Dockerfile')
const { version, dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
/** Of OpenShift: a user that no image knows, in the group of root. */
const strangeUser = '1000650000:0'

let folder: Awaited<ReturnType<typeof makeGuardedFolder>>
let image: BuiltImage

before(async () => {
  folder = await makeGuardedFolder('image')
  const node = join(root, 'node_modules/node/bin/node')
  const bases = { 'node:24': { '/usr/local/bin/node': node } }
  const env = await offlineNpm()
  image = await buildImage({ dockerfile, context: root, folder: folder.path, bases, env, mounts: [await npmCache()] })
})
after(() => folder?.remove())

const run = (args: readonly string[], user?: string) =>
  runImage(image, folder.path, [...image.entrypoint, ...args], user)
const runNode = (script: string, user?: string) =>
  runImage(image, folder.path, ['/usr/local/bin/node', '--input-type=module', '-e', script], user)

for (const [who, user] of [
  ["the image's user", undefined],
  ['a user that it does not know', strangeUser],
] as const) {
  test(`starts as ${who} on a read-only root`, async () => {
    const { stdout, stderr, exitCode } = await run(['--version'], user)
    assert.deepEqual([exitCode, stdout.trim(), stderr], [0, version, ''])
  })

  test(`prints its help by default for ${who}`, async () => {
    const { stdout, exitCode } = await run(image.cmd, user)
    assert.equal(exitCode, 0)
    assert.match(stdout, /Usage: kafka-backup/)
  })

  test(`contains the operator, for ${who}`, async () => {
    const { stdout, exitCode } = await run(['operator', '--help'], user)
    assert.equal(exitCode, 0)
    assert.match(stdout, /--all-namespaces/)
    // It is outside of a cluster here, and gets as far as to notice that.
    const started = await run(['operator', '--job-image', 'kafka-backup', '--namespace', 'here'], user)
    assert.match(started.stderr, /KUBE_CONFIG/)
  })
}

test('loads every dependency, including native ones', async () => {
  const names = Object.keys(dependencies)
  const script = `
    import { createRequire } from 'node:module'
    const { resolve } = createRequire('/app/bin/kafka-backup.js')
    for (const name of ${JSON.stringify(names)}) await import(resolve(name))
    console.log('all')`
  const { stdout, stderr } = await runNode(script)
  assert.equal(stdout.trim(), 'all', stderr)
})

test('can write only to the temporary folder', async () => {
  const script = `
    import { writeFileSync } from 'node:fs'
    for (const path of ['/x', '/app/x', '/app/dist/x', '/usr/local/bin/x', '/tmp/x']) {
      try { writeFileSync(path, ''); console.log(path) } catch (error) { console.log(path, error.code) }
    }`
  for (const user of [undefined, strangeUser]) {
    const { stdout } = await runNode(script, user)
    const expected = ['/x EROFS', '/app/x EROFS', '/app/dist/x EROFS', '/usr/local/bin/x EROFS', '/tmp/x']
    assert.deepEqual(stdout.trim().split('\n'), expected)
  }
})

test('has a numeric non-root user that owns no file', async () => {
  assert.match(image.user, /^[1-9]\d*:[1-9]\d*$/)
  for (const path of await filesBelow(join(image.layer, 'app'))) {
    const { uid, gid, mode } = await stat(path)
    assert.deepEqual([uid, gid, mode & 0o022], [0, 0, 0], path)
  }
})

test('contains only what it needs at run time', async () => {
  assert.deepEqual((await readdir(image.layer)).sort(), ['app', 'usr'])
  assert.deepEqual(await readdir(join(image.layer, 'usr/local/bin')), ['node'])
  const installed = await readdir(join(image.layer, 'app/node_modules'))
  const wanted = Object.keys(dependencies).filter(name => !name.startsWith('@'))
  for (const name of wanted) assert.ok(installed.includes(name), name)
  for (const name of Object.keys(devDependencies)) assert.ok(!installed.includes(name), name)
  const files = await filesBelow(join(image.layer, 'app'))
  assert.deepEqual(
    files.filter(path => /\.([cm]?ts|map|tgz)$/.test(path)),
    [],
  )
})

test('has labels with the version of the package', async () => {
  assert.equal(image.labels['org.opencontainers.image.version'], version)
  assert.equal(image.labels['org.opencontainers.image.licenses'], 'Apache-2.0')
  const last = parseDockerfile(await readFile(dockerfile, 'utf8')).at(-1)
  assert.equal(image.labels['org.opencontainers.image.base.name'], last?.base)
})

async function filesBelow(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
}
