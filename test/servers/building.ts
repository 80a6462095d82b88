import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Tests install, download and build nothing: two of them would do it at the same time, and one that waits for a build
 * runs into its time limit. `make servers` does it before the first test, and only what it calls has the permission.
 */
const permission = new AsyncLocalStorage<true>()

/** Something that tests need is missing, and the caller may not provide it. */
export class MissingServer extends Error {
  constructor(what: string) {
    super(`${what}: run \`make servers\`, which installs, downloads and builds what the tests need`)
    this.name = 'MissingServer'
  }
}

export function permitBuilding<T>(work: () => Promise<T>): Promise<T> {
  return permission.run(true, work)
}

/** Throws unless this call comes from `permitBuilding`. */
export function requirePermission(missing: string): void {
  if (permission.getStore() !== true) throw new MissingServer(missing)
}
