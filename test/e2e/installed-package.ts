import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, run } from './run-cli.ts'

export type Library = typeof import('../../src/index.ts')

export interface Project {
  path: string
  library: Library
  close(): Promise<void>
}

/** A user's project that has the packed package installed: what npm would publish, with the dependencies of this checkout. */
export async function openProject(): Promise<Project> {
  const path = await mkdtemp(join(tmpdir(), 'kafka-backup-project-'))
  const installed = join(path, 'node_modules/kafka-backup')
  await mkdir(installed, { recursive: true })
  const packed = await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', path], { cwd: root })
  assert.equal(packed.code, 0, packed.stderr)
  const tarball = join(path, packed.stdout.trim().split('\n').at(-1) ?? '')
  const unpacked = await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  assert.equal(unpacked.code, 0, unpacked.stderr)
  await symlink(join(root, 'node_modules'), join(installed, 'node_modules'))
  await writeFile(join(path, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }))
  const library = (await import(pathToFileURL(join(installed, 'dist/index.js')).href)) as Library
  return { path, library, close: () => rm(path, { recursive: true, force: true }) }
}

/** Checks the project's `.ts` files as a strict user does, also against all that the package's types say themselves. */
export async function checkTypes({ path }: Project): Promise<{ code: number | null; stdout: string }> {
  const compilerOptions = {
    module: 'nodenext',
    moduleResolution: 'nodenext',
    target: 'es2024',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  }
  await writeFile(join(path, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  return run(join(root, 'node_modules/.bin/tsc'), ['-p', path], { cwd: path })
}
