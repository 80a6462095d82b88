import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertOneVersion, buildRelease } from '../../deploy/release/build-release.ts'
import { isFull } from '../full.ts'
import { craneBinary } from '../servers/crane-binary.ts'
import { helmBinary } from '../servers/helm-binary.ts'
import { runBuildah } from '../servers/node/buildah.ts'
import { findNodeObstacle } from '../servers/node/obstacle.ts'
import { nodeImages, productImage } from '../servers/node/product-image.ts'
import { offlineNpm } from '../servers/npm-cache.ts'
import { accepts, findFreePorts } from '../servers/ports.ts'
import { waitFor } from '../wait-for.ts'
import { withFolder } from './backup-job.ts'
import { root, run } from './run-cli.ts'

test('a release has its files, with a bill of materials and checksums that match', () =>
  withFolder(async path => {
    const folder = join(path, 'release')
    const helm = await helmBinary()
    const { version, dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    const store = { store: join(path, 'images') }
    const buildah = (command: string, args: readonly string[]) => runBuildah(store, command, args)
    // The image of the node tests, on stand-ins for the base images, which only a registry has.
    const build = async () => {
      await buildah('pull', ['--quiet', `docker-archive:${(await nodeImages()).product}`])
      return productImage
    }
    // It takes as long as all other files, which are checked where no image can be built.
    const image = isFull && findNodeObstacle() === undefined ? { image: { build, buildah } } : {}
    const files = await buildRelease({ root, folder, helm, ...image })
    const imageNames = 'image' in image ? [`kafka-backup-image-${version}.oci.tar`] : []
    assert.deepEqual(files, [
      'SHA256SUMS',
      `kafka-backup-${version}-linux-${process.arch}`,
      `kafka-backup-${version}.cdx.json`,
      `kafka-backup-${version}.tgz`,
      ...imageNames,
      `kafka-backup-operator-${version}.tgz`,
    ])
    const checked = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder })
    assert.equal(checked.code, 0, checked.stderr)
    assert.equal(checked.stdout.match(/: OK$/gm)?.length, files.length - 1)

    const listed = await run('tar', ['-tzf', join(folder, `kafka-backup-${version}.tgz`)])
    const man = listed.stdout.split('\n').filter(name => name.startsWith('package/dist/man/'))
    assert.ok(man.includes('package/dist/man/kafka-backup-restore.1'))
    assert.ok(listed.stdout.includes('package/bin/kafka-backup.js\n'))
    assert.ok(listed.stdout.includes('package/bin/kubectl-kafka_backup.js\n'))
    assert.doesNotMatch(listed.stdout, /package\/(src|test)\//)
    await assertBundles(listed.stdout.match(/(?<=^package\/)dist\/.*\.cjs$/gm) ?? [])

    const { metadata, components } = JSON.parse(
      await readFile(join(folder, `kafka-backup-${version}.cdx.json`), 'utf8'),
    )
    assert.deepEqual([metadata.component.name, metadata.component.version], ['kafka-backup', version])
    const names = new Set(
      components.map(({ group, name }: { group?: string; name: string }) => (group ? `${group}/${name}` : name)),
    )
    assert.deepEqual(
      Object.keys(dependencies).filter(name => !names.has(name)),
      [],
    )
    assert.ok(!names.has('typescript'), 'tools of the project are not part of the package')

    const shown = await run(helm, ['show', 'chart', join(folder, `kafka-backup-operator-${version}.tgz`)])
    assert.match(shown.stdout, new RegExp(`^appVersion: ${RegExp.escape(version)}$`, 'm'))
    const platforms = components.filter(({ type }: { type: string }) => type === 'container' || type === 'platform')
    assert.deepEqual(platforms.map(({ name }: { name: string }) => name.split(':')[0]).sort(), [
      'debian',
      'node',
      'node',
    ])
    await assertInstallable(join(folder, `kafka-backup-${version}.tgz`), join(path, 'user'))
    await assertSingleFile(join(folder, `kafka-backup-${version}-linux-${process.arch}`), path, version)
    await assertPushed(folder, path, helm, version, imageNames)
  }))

/** As strict as the modules that tests run, and without long lines, because Node.js prints the line of an exception that nothing catches. */
async function assertBundles(files: readonly string[]): Promise<void> {
  assert.equal(files.length, 3)
  for (const file of files) {
    const text = await readFile(join(root, file), 'utf8')
    assert.ok(text.startsWith('"use strict";'), file)
    // One character beyond ASCII doubles the memory that the text takes. esbuild escapes them, but not in tagged templates and regular expressions.
    assert.deepEqual(text.match(/\P{ASCII}/gu) ?? [], [], file)
    assert.ok(
      text.split('\n').every(({ length }) => length < 10_000),
      file,
    )
  }
}

/** npm installs the package with its dependencies into a project, and npx runs it there. */
async function assertInstallable(tarball: string, project: string): Promise<void> {
  await mkdir(project)
  await writeFile(join(project, 'package.json'), '{"name":"user","private":true}')
  const PATH = `${join(root, 'node_modules/.bin')}:${process.env.PATH}`
  const inProject = { cwd: project, env: { ...process.env, ...(await offlineNpm()), PATH } }
  const installed = await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', tarball], inProject)
  assert.equal(installed.code, 0, installed.stderr)
  const help = await run('npx', ['kafka-backup', '--help'], inProject)
  assert.equal(help.code, 0, help.stderr)
  assert.match(help.stdout, /backup.*\n[\s\S]*verify/)
  const store = join(root, 'test/golden/format-2')
  const listed = await run('npx', ['kafka-backup', 'list', '--path', store, '--format', 'json'], inProject)
  assert.equal(JSON.parse(listed.stdout).backups[0].backup_id, 'golden', listed.stderr)
}

/** It needs nothing of the checkout, uses the native packages, and refuses to start when it is damaged. */
async function assertSingleFile(file: string, path: string, version: string): Promise<void> {
  const env = { PATH: '/usr/bin:/bin', KAFKA_BACKUP_HOME: join(path, 'home') }
  const first = await run(file, ['--version'], { cwd: path, env })
  assert.deepEqual([first.code, first.stdout.trim(), first.stderr], [0, version, ''])
  const imported = [
    'import',
    '--from',
    join(root, 'test/golden/oso-0.25.2/archives'),
    '--backup-id',
    'lz4',
    '--to',
    'store',
  ]
  const ran = await run(file, imported, { cwd: path, env })
  assert.equal(ran.code, 0, ran.stderr)
  const verified = await run(file, ['verify', '--path', 'store', '--backup-id', 'lz4', '--deep'], { cwd: path, env })
  assert.equal(verified.code, 0, verified.stderr)
  const [unpacked, ...others] = await readdir(env.KAFKA_BACKUP_HOME)
  assert.match(unpacked ?? '', new RegExp(`^${RegExp.escape(version)}-[0-9a-f]{16}$`))
  assert.deepEqual(others, [])
  await truncate(file, (await stat(file)).size - 1)
  const damaged = await run(file, ['--version'], { cwd: path, env: { ...env, KAFKA_BACKUP_HOME: join(path, 'other') } })
  assert.equal(damaged.code, 1)
  assert.match(damaged.stderr, /is damaged: its checksum is wrong/)
  assert.deepEqual(await readdir(join(path, 'other')), [])
}

/** Chart and image go to a registry as a maintainer would push them, and come back. */
async function assertPushed(
  folder: string,
  path: string,
  helm: string,
  version: string,
  images: readonly string[],
): Promise<void> {
  const crane = await craneBinary()
  const [port = 0] = await findFreePorts(1)
  const registry = `localhost:${port}`
  const stop = new AbortController()
  const serving = run(crane, ['registry', 'serve', '--address', registry], { killOn: stop.signal })
  try {
    await waitFor('the registry accepts connections', () => accepts(port))
    const chart = join(folder, `kafka-backup-operator-${version}.tgz`)
    const pushed = await run(helm, ['push', chart, `oci://${registry}/charts`, '--plain-http'])
    assert.equal(pushed.code, 0, pushed.stderr)
    const from = `oci://${registry}/charts/kafka-backup-operator`
    const shown = await run(helm, ['show', 'chart', from, '--version', version, '--plain-http'])
    assert.match(shown.stdout, /^name: kafka-backup-operator$/m, shown.stderr)

    for (const name of images)
      await pushImage(crane, join(folder, name), join(path, 'layout'), `${registry}/kafka-backup:${version}`)
  } finally {
    stop.abort()
    await serving
  }
}

async function pushImage(crane: string, archive: string, layout: string, image: string): Promise<void> {
  await mkdir(layout)
  assert.equal((await run('tar', ['-xf', archive, '-C', layout])).code, 0)
  const sent = await run(crane, ['push', '--insecure', layout, image])
  assert.equal(sent.code, 0, sent.stderr)
  const { config } = JSON.parse((await run(crane, ['config', '--insecure', image])).stdout)
  assert.equal(config.Labels['org.opencontainers.image.version'], image.split(':').at(-1))
  const valid = await run(crane, ['validate', '--insecure', '--fast', '--remote', image])
  assert.equal(valid.code, 0, valid.stderr)
}

test('a release is refused where package, chart and image have different versions', () =>
  withFolder(async path => {
    for (const [file, change] of [
      ['package.json', (text: string) => text.replace(/"version": "[^"]+"/, '"version": "9.9.9"')],
      ['deploy/helm/kafka-backup-operator/Chart.yaml', (text: string) => text],
      ['deploy/Dockerfile', (text: string) => text],
    ] as const) {
      const copied = await run('mkdir', ['-p', join(path, file, '..')])
      assert.equal(copied.code, 0)
      await writeFile(join(path, file), change(await readFile(join(root, file), 'utf8')))
    }
    await assert.rejects(assertOneVersion(path), /package\.json has version 9\.9\.9, but version of Chart\.yaml is /)
    assert.match(await assertOneVersion(root), /^\d+\.\d+\.\d+/)
  }))
