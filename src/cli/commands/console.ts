import { usageError } from '../../errors.ts'
import type { ServedConsole } from '../../jobs/serve-console.ts'
import type { Storage } from '../../storage/storage.ts'
import { TOKEN_VARIABLE } from '../console-command.ts'
import type { Session } from '../session.ts'
import { printable } from '../text.ts'
import { parseAddress, untilAborted } from './serve-until-stopped.ts'

/** Serves until it is stopped, which is its normal end. */
export async function run(session: Session): Promise<number> {
  const { options, style, actions, clock, log } = session
  const served: Omit<ServedConsole, 'storages'> = {
    ...parseAddress(options.listen ?? ''),
    token: tokenOf(session),
    tls: tlsOf(session),
    allowedHosts: options.allowedHost,
    clock,
    redact: text => session.withoutSecrets(text),
    onFailure: error => log.write('warn', `console: ${error instanceof Error ? error.message : String(error)}`),
  }
  const storages = await openAll(session)
  try {
    const server = await actions.openConsole({ ...served, storages })
    try {
      session.print(
        () => [`The console is at ${style.bold(server.url)} until you stop this command.`, ...listOf(storages)],
        () => ({ url: server.url, locations: storages.map(({ location }) => location) }),
      )
      await untilAborted(session.signal)
      return 0
    } finally {
      await server.close()
    }
  } finally {
    for (const storage of storages) await storage.close()
  }
}

function listOf(storages: readonly Storage[]): string[] {
  return storages.map(({ location }) => `  ${printable(location)}`)
}

async function openAll(session: Session): Promise<Storage[]> {
  const { actions, signal } = session
  const { paths, configs, set } = session.options
  if (configs.length === 0 && set.length > 0) throw usageError('--set needs --config')
  if (paths.length + configs.length === 0) throw usageError('pass --path or --config, or set KAFKA_BACKUP_LOCATION')
  const opened: Storage[] = []
  try {
    for (const path of paths) opened.push(await actions.openLocation(path, session.givenKeys(), signal))
    for (const config of configs) {
      const job = await session.loadClusterlessJob(config)
      opened.push(await actions.openJobStorage(job, session.givenKeys(), signal))
    }
    return opened
  } catch (error) {
    for (const storage of opened) await storage.close()
    throw error
  }
}

/** A variable that is named but has no token would leave the console open to everyone on this machine. */
function tokenOf(session: Session): string | undefined {
  const variable = session.options.tokenEnv ?? TOKEN_VARIABLE
  const token = session.secret(variable)
  if (token !== undefined || (variable === TOKEN_VARIABLE && !session.isSet(variable))) return token
  const state = session.isSet(variable) ? 'empty: set a token, or unset it' : 'not set'
  throw usageError(`--token-env ${variable}: this environment variable is ${state}`)
}

function tlsOf({ options: { tlsCert: cert, tlsKey: key } }: Session): ServedConsole['tls'] {
  if (cert === undefined && key === undefined) return undefined
  if (cert !== undefined && key !== undefined) return { cert, key }
  throw usageError('TLS needs both --tls-cert and --tls-key')
}
