import { cacheRoot } from './cache.ts'
import { neededServers, type ServerUser, serverUsers } from './needed-servers.ts'
import { provideServers } from './provide-servers.ts'

/** `make servers`: provides what the tests need; with a name, what that target of the Makefile needs. */
const user = process.argv[2] ?? 'all'
if (user !== 'all' && !serverUsers.includes(user as ServerUser)) {
  throw new Error(`${user} is not one of all, ${serverUsers.join(', ')}`)
}
const wanted = neededServers.filter(({ users }) => user === 'all' || users.includes(user as ServerUser))
try {
  await provideServers(wanted, { cache: cacheRoot(), write: text => void process.stdout.write(text) })
} catch (error) {
  process.stderr.write(`make servers: ${(error as Error).message}\n`)
  process.exitCode = 1
}
