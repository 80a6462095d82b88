import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertOneVersion, buildRelease } from '../../deploy/release/build-release.ts'
import { helmBinary } from '../servers/helm-binary.ts'
import { withFolder } from './backup-job.ts'
import { root, run } from './run-cli.ts'

test('a release has the package, the chart, a bill of materials and checksums that match', () =>
  withFolder(async path => {
    const folder = join(path, 'release')
    const helm = await helmBinary()
    const { version, dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    assert.deepEqual(await buildRelease({ root, folder, helm }), [
      'SHA256SUMS',
      `kafka-backup-${version}.cdx.json`,
      `kafka-backup-${version}.tgz`,
      `kafka-backup-operator-${version}.tgz`,
    ])
    const checked = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder })
    assert.equal(checked.code, 0, checked.stderr)
    assert.equal(checked.stdout.match(/: OK$/gm)?.length, 3)

    const listed = await run('tar', ['-tzf', join(folder, `kafka-backup-${version}.tgz`)])
    const man = listed.stdout.split('\n').filter(name => name.startsWith('package/dist/man/'))
    assert.ok(man.includes('package/dist/man/kafka-backup-restore.1'))
    assert.ok(listed.stdout.includes('package/bin/kafka-backup.js\n'))
    assert.ok(listed.stdout.includes('package/bin/kubectl-kafka_backup.js\n'))
    assert.doesNotMatch(listed.stdout, /package\/(src|test)\//)

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
  }))

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
