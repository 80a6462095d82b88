import { usageError } from '../../errors.ts'
import type { Connection } from '../../init/connection.ts'
import { withConnectionOptions } from '../../init/connection-options.ts'
import type { OsoJob } from '../../init/oso-job.ts'
import type { Session } from '../session.ts'
import { answer } from './init-answers.ts'

/** Stands for a secret where nothing is checked. */
export const NOT_SET = 'not-set-yet'

export interface InitSource {
  connection: Connection
  /** Where `--from` is a job file of OSO kafka-backup. */
  job?: OsoJob
}

/** The connection of `--from` and of the options, and the rest of a job that is translated. */
export async function readSource(session: Session): Promise<InitSource> {
  const { from, listener, bootstrapServer, protocol, mechanism, username, passwordEnv, path } = session.options
  const { tlsCa, tlsCert, tlsKey } = session.options
  if (listener !== undefined && from === undefined) throw usageError('--listener needs --from')
  const job = from === undefined ? undefined : await session.actions.readOsoJobFile(from)
  if (job && listener !== undefined) throw usageError('--listener is for resources of Strimzi')
  const connected = from !== undefined && !job ? await session.actions.readConnectionFile(from, listener) : undefined
  const read = job?.connection ?? connected
  session.hide([...(read?.secrets ?? []), ...(job?.secrets ?? [])].flatMap(({ value }) => value ?? []))
  // Before the checks, which may fail on what a note says.
  const notes = job ? notesOf(job, path) : (read?.notes ?? [])
  for (const note of notes) session.log.write('warn', `${from}: ${note}`)
  const isKnown = bootstrapServer !== undefined || (read?.bootstrapServers.length ?? 0) > 0
  const option = from === undefined ? '--bootstrap-server or --from' : `--bootstrap-server (${from} names no brokers)`
  const asked = isKnown ? bootstrapServer : await answer(session, 'Brokers (host:port)', option)
  const connection = withConnectionOptions(read, {
    ...{ bootstrapServers: asked, protocol, mechanism, username, passwordEnv, tlsCa, tlsCert, tlsKey },
  })
  if (!job) return { connection }
  const others = path === undefined ? job.secrets : job.secrets.filter(({ variable }) => isUsed(job, variable))
  return { job: { ...job, notes }, connection: { ...connection, secrets: [...connection.secrets, ...others] } }
}

function notesOf({ notes }: OsoJob, path: string | undefined): readonly string[] {
  if (path === undefined) return notes
  const others = notes.filter(note => !note.startsWith('storage'))
  return [...others, `storage: replaced by ${path} of --path or KAFKA_BACKUP_LOCATION`]
}

/** Whether more than the storage needs a variable: `--path` replaces the storage. */
function isUsed({ topics, options, metrics }: OsoJob, variable: string): boolean {
  return JSON.stringify({ topics, options, metrics }).includes(`\${${variable}}`)
}

/** The checks of this run need every secret, and the message of a job file would name lines of a file that is not written. */
export function assertVariables(session: Session, { secrets }: Connection): void {
  const unset = secrets.find(({ variable, value }) => value === undefined && !session.isSet(variable))
  if (!unset) return
  const { variable, origin } = unset
  throw usageError(
    `the environment variable ${variable} is not set: set it to ${origin}, or pass --no-check to write the file without checks`,
  )
}
