import { usageError } from '../../errors.ts'
import type { ServedRegistry } from '../../jobs/serve-registry.ts'
import type { Session } from '../session.ts'
import { printable } from '../text.ts'
import { backupSideOf } from './schema-side.ts'
import { parseAddress, untilAborted } from './serve-until-stopped.ts'

/** Serves until it is stopped, which is its normal end. */
export async function run(session: Session): Promise<number> {
  const { options, style, log, onProgress } = session
  const address = parseAddress(options.listen ?? '')
  const firstId = parseFirstId(options.firstId ?? '1')
  const protection = { ...loginOf(session), ...tlsOf(session) }
  const backup = await servedBackup(session)
  if (backup && options.firstId !== undefined)
    throw usageError('--first-id is for an empty registry; a backup has its own IDs')
  const onFailure = (error: unknown) =>
    log.write('warn', `registry: ${error instanceof Error ? error.message : String(error)}`)
  const served = { ...address, firstId, ...protection, ...(backup && { backup }), onProgress, onFailure }
  const server = await session.actions.openRegistry(served, session.signal)
  const what =
    backup?.kind === 'backup'
      ? `The schemas of the backup ${printable(backup.backupId)} are`
      : 'A registry in memory is'
  try {
    session.print(
      () => [`${what} at ${style.bold(server.url)} until you stop this command.`],
      () => ({ url: server.url, ...(backup?.kind === 'backup' && { backup_id: backup.backupId, read_only: true }) }),
    )
    await untilAborted(session.signal)
    return 0
  } finally {
    await server.close()
  }
}

/** Undefined if no option names a backup. */
async function servedBackup(session: Session): Promise<ServedRegistry['backup']> {
  const { path, backupId, config, set, generation } = session.options
  const isAsked = [path, backupId, config, generation].some(one => one !== undefined) || set.length > 0
  return isAsked ? backupSideOf(session) : undefined
}

function loginOf(session: Session): Pick<ServedRegistry, 'basicAuth'> {
  const { username, passwordEnv = '' } = session.options
  if (username === undefined) return {}
  const password = session.secret(passwordEnv)
  if (password !== undefined) return { basicAuth: { username, password } }
  throw usageError(
    `--username needs a password: set the environment variable ${passwordEnv}, or name another --password-env`,
  )
}

function tlsOf({ options: { tlsCert: cert, tlsKey: key, tlsCa: ca } }: Session): Pick<ServedRegistry, 'tls'> {
  if (cert !== undefined && key !== undefined) return { tls: { cert, key, ...(ca !== undefined && { ca }) } }
  if (cert === undefined && key === undefined && ca === undefined) return {}
  throw usageError('TLS needs both --tls-cert and --tls-key')
}

/** A schema ID in a record is a positive signed 32-bit integer. */
function parseFirstId(text: string): number {
  const id = Number(text)
  if (/^\d+$/.test(text) && id >= 1 && id < 2 ** 31) return id
  throw usageError(`--first-id ${text} is not a valid ID: use a whole number from 1 to 2147483647`)
}
