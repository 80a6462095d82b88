import { createHash } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { cached } from './cache.ts'
import { npmCleanInstall, npmInstall } from './npm-install.ts'
import { mustRun } from './run-command.ts'

const root = resolve(import.meta.dirname, '../..')

/**
 * A cache of npm with every package that the tests install: the project's own by its lock file, as the image does it,
 * and those that a user gets who installs the project without one.
 */
export async function npmCache(): Promise<string> {
  const lock = await readFile(join(root, 'package-lock.json'), 'utf8')
  const { dependencies, devDependencies } = await readManifest()
  const wanted = createHash('sha256').update(JSON.stringify([dependencies, devDependencies, lock]))
  return cached(`npm-packages-${wanted.digest('hex').slice(0, 16)}`, fill)
}

/** Settings for npm in a test: it takes everything from the cache and asks nobody. */
export async function offlineNpm(): Promise<Record<string, string>> {
  const settings = { npm_config_offline: 'true', npm_config_update_notifier: 'false', npm_config_logs_max: '0' }
  return { ...settings, npm_config_cache: await npmCache() }
}

async function fill(cache: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-npm-'))
  try {
    await installByLock(join(folder, 'project'), cache)
    await installAsUser(join(folder, 'user'), cache)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function installByLock(dir: string, cache: string): Promise<void> {
  await mkdir(dir)
  for (const name of ['package.json', 'package-lock.json']) await copyFile(join(root, name), join(dir, name))
  await npmCleanInstall(dir, ['--cache', cache, '--include=dev', '--ignore-scripts'])
}

/** A package with the same dependencies stands in for the project, which is not built yet. */
async function installAsUser(dir: string, cache: string): Promise<void> {
  const standIn = join(dir, 'stand-in')
  await mkdir(standIn, { recursive: true })
  const { name, version, dependencies } = await readManifest()
  await writeFile(join(standIn, 'package.json'), JSON.stringify({ name, version, dependencies }))
  await mustRun('npm', ['pack', '--silent', '--pack-destination', dir], { cwd: standIn })
  await writeFile(join(dir, 'package.json'), '{"name":"user","private":true}')
  await npmInstall(dir, ['--cache', cache, join(dir, `${name}-${version}.tgz`)])
}

async function readManifest() {
  return JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    name: string
    version: string
    dependencies: Record<string, string>
    devDependencies: Record<string, string>
  }
}
