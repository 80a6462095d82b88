import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { requirePermission } from './building.ts'

const building = new Map<string, Promise<string>>()

/**
 * The folder `name` of the per-user cache. It is built by `make servers`; a test that does not find it fails. `build` fills
 * an empty folder that is renamed into place when it is complete, so a folder with the final name is always complete.
 * Processes that build the same name at the same time both do the work; the first rename wins and the others use its
 * result.
 */
export function cached(name: string, build: (dir: string) => Promise<void>): Promise<string> {
  const target = join(cacheRoot(), name)
  let promise = building.get(target)
  if (promise === undefined) {
    promise = findOrBuild(target, build).finally(() => building.delete(target))
    building.set(target, promise)
  }
  return promise
}

export function cacheRoot(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'kafka-backup-dev')
}

async function findOrBuild(target: string, build: (dir: string) => Promise<void>): Promise<string> {
  if (await isFolder(target)) return target
  requirePermission(`${target} is missing`)
  await mkdir(cacheRoot(), { recursive: true })
  await sweepAbandoned()
  const draft = `${target}.building-${process.pid}`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft)
  try {
    await build(draft)
    await renameOrYield(draft, target)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return target
}

async function renameOrYield(draft: string, target: string): Promise<void> {
  try {
    await rename(draft, target)
  } catch (error) {
    if (!(await isFolder(target))) throw error
  }
}

/** Removes what a builder left behind that was killed. */
async function sweepAbandoned(): Promise<void> {
  for (const name of await readdir(cacheRoot())) {
    const pid = /\.building-(\d+)$/.exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(cacheRoot(), name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
}
