import { KafkaBackupError, usageError } from '../../errors.ts'
import type { Connection } from '../../init/connection.ts'
import { withConnectionOptions } from '../../init/connection-options.ts'
import { formatJob, type PlannedJob } from '../../init/format-job.ts'
import { parseSchedule, proposeSchedule, scheduleNames } from '../../init/propose-schedule.ts'
import { proposeTopics, type SurveyedTopic, selectSurveyed } from '../../init/propose-topics.ts'
import { storageSection } from '../../init/storage-section.ts'
import type { ClusterSurvey } from '../../jobs/survey-cluster.ts'
import type { Session } from '../session.ts'
import { formatSurvey, printInit } from './init-report.ts'

/** The file was written, and the job cannot run yet. */
const NOT_READY = 4
/** Stands for a secret where nothing is checked. */
const NOT_SET = 'not-set-yet'

export async function run(session: Session): Promise<number> {
  const { out = '', overwrite, check: isChecked } = session.options
  if (out !== '-' && !overwrite) await session.actions.assertFree(out)
  const connection = await readConnection(session)
  if (isChecked) assertVariables(session, connection)
  const survey = isChecked ? await surveyCluster(session, connection) : undefined
  const job = await planJob(session, connection, survey)
  const text = formatJob(job)
  // Also without a check: a file that cannot be read back is not written.
  const parsed = await parseText(session, text, connection)
  const report = isChecked ? await session.actions.checkJob(parsed, session.signal) : undefined
  if (out !== '-') await session.actions.writeJobFile(out, text, overwrite)
  printInit(session, { job, text, file: out === '-' ? undefined : out, survey, report })
  return report?.ok === false ? NOT_READY : 0
}

async function readConnection(session: Session): Promise<Connection> {
  const { from, listener, bootstrapServer, protocol, mechanism, username, passwordEnv } = session.options
  const { tlsCa, tlsCert, tlsKey } = session.options
  if (listener !== undefined && from === undefined) throw usageError('--listener needs --from')
  const read = from === undefined ? undefined : await session.actions.readConnectionFile(from, listener)
  session.hide(read?.secrets.flatMap(({ value }) => value ?? []) ?? [])
  // Before the checks, which may fail on what a note says.
  for (const note of read?.notes ?? []) session.log.write('warn', `${from}: ${note}`)
  const isKnown = bootstrapServer !== undefined || (read?.bootstrapServers.length ?? 0) > 0
  const option = from === undefined ? '--bootstrap-server or --from' : `--bootstrap-server (${from} names no brokers)`
  const asked = isKnown ? bootstrapServer : await answer(session, 'Brokers (host:port)', option)
  return withConnectionOptions(read, {
    ...{ bootstrapServers: asked, protocol, mechanism, username, passwordEnv, tlsCa, tlsCert, tlsKey },
  })
}

/** The checks of this run need every secret, and the message of a job file would name lines of a file that is not written. */
function assertVariables(session: Session, { secrets }: Connection): void {
  const unset = secrets.find(({ variable, value }) => value === undefined && !session.isSet(variable))
  if (!unset) return
  const { variable, origin } = unset
  throw usageError(
    `the environment variable ${variable} is not set: set it to ${origin}, or pass --no-check to write the file without checks`,
  )
}

/** With a provisional selection and location: only the source counts. */
async function surveyCluster(session: Session, connection: Connection): Promise<ClusterSurvey> {
  const draft = {
    backupId: 'draft',
    connection,
    topics: { include: ['*'], exclude: [] },
    storage: { backend: 'filesystem', path: '/' },
    schedule: parseSchedule('once'),
  }
  const { source } = await parseText(session, formatJob(draft), connection)
  const survey = await session.actions.surveyCluster(source, session.signal)
  session.tell(style => formatSurvey(survey, style))
  return survey
}

async function planJob(
  session: Session,
  connection: Connection,
  survey: ClusterSurvey | undefined,
): Promise<PlannedJob> {
  const { include: included, exclude: excluded, path, backupId, schedule: asked } = session.options
  const proposal = proposeTopics(survey?.topics ?? [])
  const include = await answerList(session, 'Topics to include', included, proposal.include)
  const exclude = await answerList(session, 'Topics to exclude', excluded, proposal.exclude)
  const topics = { include, exclude, reasons: proposal.reasons }
  const taken = survey && selectSurveyed(survey.topics, topics)
  const storage = await parseAnswer(session, path, storageSection, () =>
    answer(session, 'Location (folder, s3://, az:// or gs://)', '--path'),
  )
  const schedule = await readSchedule(session, asked, taken ?? [])
  const id = backupId ?? (await answer(session, 'Name of the backup', '--backup-id', 'kafka'))
  return { backupId: id, connection, topics, storage, schedule, ...(taken && { taken }) }
}

async function readSchedule(session: Session, asked: string | undefined, taken: readonly SurveyedTopic[]) {
  const { schedule, reason } = proposeSchedule(taken)
  const question = `Schedule: ${scheduleNames.join(', ')} or cron (${reason})`
  return parseAnswer(session, asked, parseSchedule, () => answer(session, question, '--schedule', schedule))
}

/** Asks again for an answer that is wrong: the earlier ones would be lost. A wrong option is an error. */
async function parseAnswer<T>(
  session: Session,
  given: string | undefined,
  parse: (text: string) => T,
  ask: () => Promise<string>,
): Promise<T> {
  for (;;) {
    const text = given ?? (await ask())
    try {
      return parse(text)
    } catch (error) {
      const isAsked = given === undefined && session.canAsk && !session.options.yes
      if (!isAsked || !(error instanceof KafkaBackupError)) throw error
      session.tell(() => [error.message])
    }
  }
}

async function answerList(
  session: Session,
  question: string,
  given: readonly string[],
  proposed: readonly string[],
): Promise<readonly string[]> {
  if (given.length > 0) return given
  const text = await answer(session, `${question}, separated by commas`, '', proposed.join(','))
  return text.split(',').flatMap(one => (one.trim() === '' ? [] : [one.trim()]))
}

/** The answer on the terminal, or the proposal where there is none or `--yes` is given. */
async function answer(session: Session, question: string, option: string, proposed?: string): Promise<string> {
  const { yes } = session.options
  if (yes || !session.canAsk) {
    if (proposed !== undefined) return proposed
    throw usageError(`pass ${option}: ${yes ? 'there is no proposal for it' : 'there is no terminal to ask on'}`)
  }
  for (;;) {
    const text = (await session.question(`${question}${proposed ? ` [${proposed}]` : ''}: `)).trim()
    if (text !== '') return text
    if (proposed !== undefined) return proposed
  }
}

function parseText(session: Session, text: string, { secrets }: Connection) {
  // Only a run without checks gets here without a value, and uses none.
  const known = Object.fromEntries(secrets.map(({ variable, value }) => [variable, value ?? NOT_SET]))
  return session.parseBackupJob(text, 'the new job file', known)
}
