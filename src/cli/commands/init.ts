import type { Connection } from '../../init/connection.ts'
import { formatJob, type PlannedJob } from '../../init/format-job.ts'
import { parseSchedule, proposeSchedule, scheduleNames } from '../../init/propose-schedule.ts'
import { proposeTopics, type SurveyedTopic, selectSurveyed } from '../../init/propose-topics.ts'
import { storageSection } from '../../init/storage-section.ts'
import type { ClusterSurvey } from '../../jobs/survey-cluster.ts'
import type { Session } from '../session.ts'
import { answer, answerList, parseAnswer } from './init-answers.ts'
import { formatSurvey, printInit } from './init-report.ts'
import { initRestore } from './init-restore.ts'
import { assertVariables, type InitSource, NOT_SET, readSource } from './init-source.ts'

/** The file was written, and the job cannot run yet. */
const NOT_READY = 4

export async function run(session: Session): Promise<number> {
  const { out: given, overwrite, check: isChecked } = session.options
  const isFree = given === undefined || given === '-' || overwrite
  if (!isFree) await session.actions.assertFree(given)
  const source = await readSource(session)
  if (source.job?.mode === 'restore') return initRestore(session, source.connection, source.job)
  const out = given ?? 'backup.yaml'
  if (given === undefined && !overwrite) await session.actions.assertFree(out)
  const { connection } = source
  if (isChecked) assertVariables(session, connection)
  const survey = isChecked ? await surveyCluster(session, connection) : undefined
  const job = await planJob(session, source, survey)
  const text = formatJob(job)
  // Also without a check: a file that cannot be read back is not written.
  const parsed = await parseText(session, text, connection)
  const report = isChecked ? await session.actions.checkJob(parsed, session.signal) : undefined
  if (out !== '-') await session.actions.writeJobFile(out, text, overwrite)
  printInit(session, { job, text, file: out === '-' ? undefined : out, survey, report })
  return report?.ok === false ? NOT_READY : 0
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
  { connection, job }: InitSource,
  survey: ClusterSurvey | undefined,
): Promise<PlannedJob> {
  const { include: included, exclude: excluded, path, backupId, schedule: asked, from = '' } = session.options
  const proposal = proposeTopics(survey?.topics ?? [])
  const include = await answerList(session, 'Topics to include', included, job?.topics.include ?? proposal.include)
  const exclude = await answerList(session, 'Topics to exclude', excluded, job?.topics.exclude ?? proposal.exclude)
  const topics = { include, exclude, reasons: proposal.reasons }
  const taken = survey && selectSurveyed(survey.topics, topics)
  const storage = await chooseStorage(session, path, job)
  const { continuous, ...options } = job?.options ?? {}
  const schedule = await readSchedule(session, asked, taken ?? [], continuous === true)
  const id = backupId ?? (await answer(session, 'Name of the backup', '--backup-id', job?.backupId ?? 'kafka'))
  const origin = job && { file: from, notes: job.notes, options, metrics: job.metrics }
  return { backupId: id, connection, topics, storage, schedule, ...(taken && { taken }), ...(origin && { origin }) }
}

/** That of the translated job, with its endpoint and credentials, which an answer could not name. */
async function chooseStorage(session: Session, path: string | undefined, job: InitSource['job']) {
  if (path === undefined && job && Object.keys(job.storage).length > 0) return job.storage
  return parseAnswer(session, path, storageSection, () =>
    answer(session, 'Location (folder, s3://, az:// or gs://)', '--path'),
  )
}

async function readSchedule(
  session: Session,
  asked: string | undefined,
  taken: readonly SurveyedTopic[],
  isContinuous: boolean,
) {
  const proposal = proposeSchedule(taken)
  const { schedule, reason } = isContinuous ? { schedule: 'continuous', reason: 'as in the other job' } : proposal
  const question = `Schedule: ${scheduleNames.join(', ')} or cron (${reason})`
  return parseAnswer(session, asked, parseSchedule, () => answer(session, question, '--schedule', schedule))
}

function parseText(session: Session, text: string, { secrets }: Connection) {
  // Only a run without checks gets here without a value, and uses none.
  const known = Object.fromEntries(secrets.map(({ variable, value }) => [variable, value ?? NOT_SET]))
  return session.parseBackupJob(text, 'the new job file', known)
}
