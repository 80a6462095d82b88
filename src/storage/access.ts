import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { StorageOptions } from './location.ts'

export interface AccessCheck {
  action: 'read' | 'write'
  allowed: boolean
  detail: string
}

/** What the process may do at the location, found out without writing anything. */
export async function checkAccess(options: StorageOptions): Promise<AccessCheck[]> {
  const root = join(options.path, options.prefix ?? '')
  const existing = await nearestExisting(root)
  const [canRead, canWrite] = await Promise.all([
    may(existing, constants.R_OK | constants.X_OK),
    may(existing, constants.W_OK | constants.X_OK),
  ])
  const created = existing === root ? '' : ` (${root} will be created in it)`
  return [
    { action: 'read', allowed: canRead, detail: canRead ? existing : `${existing} cannot be read` },
    { action: 'write', allowed: canWrite, detail: `${existing}${canWrite ? '' : ' is not writable'}${created}` },
  ]
}

export function locationExists(options: StorageOptions): Promise<boolean> {
  return may(join(options.path, options.prefix ?? ''), constants.F_OK)
}

async function nearestExisting(path: string): Promise<string> {
  const parent = dirname(path)
  return parent === path || (await may(path, constants.F_OK)) ? path : nearestExisting(parent)
}

function may(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}
