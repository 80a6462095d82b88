import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { memoryFolder } from '../../test-environment.ts'
import { cached, cacheRoot } from '../cache.ts'
import { makeGuardedFolder } from '../guard.ts'
import { npmCache } from '../npm-cache.ts'
import { mustRun } from '../run-command.ts'
import { baseImageStore, baseImages, npmCacheInImage } from './base-images.ts'
import { buildWithBuildah, saveImage } from './buildah.ts'

export interface NodeImages {
  /** An archive of the project's image, as its Dockerfile builds it. */
  product: string
  /** An archive of the image that keeps the namespaces of a pod. */
  pause: string
}

export const productImage = 'localhost/kafka-backup:test'
/** It waits, which is all that the first container of a pod has to do. */
export const pauseImage = baseImages.BASE_IMAGE

const root = resolve(import.meta.dirname, '../../..')
const dockerfile = join(root, 'deploy/Dockerfile')
/** Each takes 250 MB; other checkouts of the project may use theirs at the same time. */
const KEPT_IMAGES = 3
const prefix = 'product-image-'

/** The project's image, built again when something that goes into it has changed. */
export async function nodeImages(): Promise<NodeImages> {
  const store = await baseImageStore()
  const name = `${prefix}${await hashInput(store)}`
  const folder = await cached(name, async dir => {
    await build(dir, store)
    await removeOldImages()
  })
  return { product: join(folder, 'product.tar'), pause: join(store, 'pause.tar') }
}

async function build(dir: string, bases: string): Promise<void> {
  // Hundreds of megabytes in small files, most of which are thrown away.
  const folder = await makeGuardedFolder('image', memoryFolder())
  const options = { store: join(folder.path, 'store'), bases: join(bases, 'store') }
  try {
    await gatherContext(join(folder.path, 'context'))
    await buildWithBuildah(options, productImage, {
      file: dockerfile,
      context: join(folder.path, 'context'),
      args: baseImages,
      // Writes of npm go to a layer that is thrown away.
      volumes: [`${await npmCache()}:${npmCacheInImage}:O`],
    })
    await saveImage(options, productImage, join(dir, 'product.tar'))
  } finally {
    await folder.remove()
  }
}

/** Of the Dockerfile, of every file that it can copy, and of the base images. */
async function hashInput(store: string): Promise<string> {
  const hash = createHash('sha256')
    .update(store)
    .update(await readFile(dockerfile))
  for (const file of await contextFiles()) {
    hash.update(JSON.stringify(relative(root, file))).update(await readFile(file))
  }
  return hash.digest('hex').slice(0, 16)
}

async function contextFiles(): Promise<string[]> {
  const files: string[] = []
  for (const name of await contextNames()) {
    const path = join(root, name)
    if ((await stat(path)).isFile()) files.push(path)
    else {
      const entries = await readdir(path, { recursive: true, withFileTypes: true })
      files.push(...entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name)))
    }
  }
  return files.sort()
}

async function gatherContext(folder: string): Promise<void> {
  for (const name of await contextNames()) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await cp(join(root, name), join(folder, name), { recursive: true })
  }
  await addAddresses(join(folder, 'package-lock.json'))
}

/**
 * The lock file of the project names no registry, so npm would read the descriptions of all versions of every package to
 * find its address, which takes a minute. Packages come from the cache by their checksums: any address does.
 */
async function addAddresses(file: string): Promise<void> {
  const lock = JSON.parse(await readFile(file, 'utf8')) as { packages: Record<string, LockedPackage> }
  const registry = await mustRun('npm', ['config', 'get', 'registry', '--loglevel=silent'])
  for (const [path, locked] of Object.entries(lock.packages)) {
    const name = locked.name ?? path.split('node_modules/').at(-1) ?? ''
    const archive = `${name}/-/${name.split('/').at(-1)}-${locked.version}.tgz`
    if (path !== '' && locked.integrity !== undefined) locked.resolved ??= new URL(archive, registry.trim()).href
  }
  await writeFile(file, JSON.stringify(lock))
}

interface LockedPackage {
  name?: string
  version?: string
  integrity?: string
  resolved?: string
}

/** `.dockerignore` leaves out everything and names what is needed. */
async function contextNames(): Promise<string[]> {
  const lines = (await readFile(join(root, '.dockerignore'), 'utf8')).split('\n')
  return lines.filter(line => line.startsWith('!')).map(line => line.slice(1))
}

async function removeOldImages(): Promise<void> {
  const names = (await readdir(cacheRoot())).filter(name => name.startsWith(prefix) && !name.includes('.building-'))
  const folders = await Promise.all(
    names.map(async name => ({ path: join(cacheRoot(), name), at: (await stat(join(cacheRoot(), name))).mtimeMs })),
  )
  const old = folders.toSorted((one, other) => other.at - one.at).slice(KEPT_IMAGES - 1)
  for (const { path } of old) await rm(path, { recursive: true, force: true })
}
