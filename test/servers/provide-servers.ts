import { join } from 'node:path'
import { MissingServer, permitBuilding } from './building.ts'
import { openMachineLock } from './machine-lock.ts'
import { type NeededServer, type Tool, tools } from './needed-servers.ts'
import { findProgram } from './system-program.ts'

export interface ProvideOptions {
  /** The folder of the lock. */
  cache: string
  write(text: string): void
}

/**
 * Installs, downloads and builds what is missing of these, one at a time on this machine, with a line of progress each.
 * Another process that does the same is waited for, one server at a time.
 */
export async function provideServers(servers: readonly NeededServer[], options: ProvideOptions): Promise<void> {
  const missing = new Set<NeededServer>()
  for (const server of servers) {
    if (server.obstacle?.() === undefined && !(await isReady(server))) missing.add(server)
  }
  await requireTools([...missing].flatMap(server => server.tools))
  for (const server of servers) {
    const obstacle = server.obstacle?.()
    if (obstacle !== undefined)
      options.write(`${server.name}: not needed, this machine runs no Kubernetes node: ${obstacle}\n`)
    else if (missing.has(server)) await provide(server, options)
    else options.write(`${server.name}: ready\n`)
  }
}

async function provide(server: NeededServer, { cache, write }: ProvideOptions): Promise<void> {
  write(`${server.name}: ${server.action} … `)
  await using _ = await openMachineLock(join(cache, 'lock'), () => write('waiting for another `make servers` … '))
  if (await isReady(server)) return write('ready\n')
  const start = performance.now()
  await permitBuilding(server.provide).catch((error: Error) => {
    write('failed\n')
    throw new Error(`${server.name} could not be provided: ${error.message}`, { cause: error })
  })
  write(`${Math.round((performance.now() - start) / 1000)} s\n`)
}

async function isReady(server: NeededServer): Promise<boolean> {
  try {
    await server.provide()
    return true
  } catch (error) {
    if (error instanceof MissingServer || isNoSuchCommand(error)) return false
    throw error
  }
}

/** All at once, so that nobody has to start again for each of them. */
async function requireTools(names: readonly Tool[]): Promise<void> {
  const missing: string[] = []
  for (const name of new Set(names)) {
    if ((await findProgram(name)) === undefined) missing.push(`${name} (${tools[name]})`)
  }
  if (missing.length > 0) throw new Error(`install these first: ${missing.join(', ')}`)
}

function isNoSuchCommand(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
