import { formatTextReport } from '../../drill/evidence-report.ts'
import type { VerifiedEvidence } from '../../drill/verify-evidence.ts'
import { errorTable } from '../../error-table.ts'
import { usageError } from '../../errors.ts'
import type { DrillReport, DrillRequest } from '../../jobs/drill.ts'
import { DEFAULT_SCRATCH_PREFIX } from '../drill-command.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { OutputStyle } from '../output-style.ts'
import { drillFacts } from '../result/drill-facts.ts'
import type { Session } from '../session.ts'
import { formatText } from '../table.ts'
import { printable } from '../text.ts'
import { withBackup } from './backups-at.ts'
import { withChoice } from './generation-choice.ts'
import { durationOption } from './option-values.ts'
import { restoreJobOf } from './restore-job-of.ts'

const NOT_PROVEN = 1
const DIFFERS = 3
const TOPICS_LEFT = 4

export async function run(session: Session): Promise<number> {
  return session.options.action === 'verify' ? runVerify(session) : runDrill(session)
}

async function runDrill(session: Session): Promise<number> {
  const { options } = session
  if (options.publicKey !== undefined)
    throw usageError('--public-key is for `drill verify`; a drill signs with --signing-key')
  const request = requestOf(options)
  const job = withChoice(await restoreJobOf(session), options)
  const report = await session.withProgress('drill', 'reading the backup', onProgress =>
    session.actions.runDrillJob(job, request, { onProgress }, session.signal),
  )
  session.outcome.note(drillFacts(report))
  session.print(
    () => formatDrill(report, session.style),
    () => report,
  )
  return exitOf(report)
}

function requestOf(options: CommandOptions): DrillRequest {
  const {
    topics,
    sample,
    newest,
    evidence,
    scratchPrefix = DEFAULT_SCRATCH_PREFIX,
    signingKey,
    record,
    schemas,
  } = options
  const newestMs = durationOption('newest', newest)
  const samplePercent = percentOption(sample)
  return {
    scope: {
      topics,
      ...(newestMs !== undefined && { newestMs }),
      ...(samplePercent !== undefined && { samplePercent }),
    },
    ...{ evidence, scratchPrefix, signingKey, record, schemas },
  }
}

function percentOption(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const percent = /^\d{1,3}(\.\d{1,6})?%?$/.test(text) ? Number.parseFloat(text) : Number.NaN
  if (percent > 0 && percent <= 100) return percent
  throw usageError(`--sample is a percentage above 0 and up to 100, not ${JSON.stringify(text)}`)
}

/** Damage counts more than what is left behind. */
function exitOf({ evidence: { failure, clean_up } }: DrillReport): number {
  if (!failure) return clean_up.left.length > 0 ? TOPICS_LEFT : 0
  if (failure.code === 'DIFFERENT') return DIFFERS
  return failure.code in errorTable ? errorTable[failure.code as keyof typeof errorTable].exitCode : NOT_PROVEN
}

function formatDrill({ evidence, location, files, record }: DrillReport, style: OutputStyle): string[] {
  const notRecorded = 'key' in record ? [] : formatText(`This result is not recorded: ${record.not_recorded}`, style)
  return [
    ...formatTextReport(evidence).trimEnd().split('\n').map(printable),
    '',
    ...formatText(`Evidence: ${printable(location)} (${files.join(', ')})`, style),
    ...notRecorded,
  ]
}

async function runVerify(session: Session): Promise<number> {
  const { publicKey } = session.options
  if (publicKey === undefined) {
    throw usageError(
      'pass --public-key: the key inside the evidence proves nothing, because anyone who changes it can sign it again',
    )
  }
  const verified = await verifiedOf(session, publicKey)
  session.print(
    () => formatVerified(verified, session.style),
    () => verified,
  )
  return verified.ok ? 0 : DIFFERS
}

async function verifiedOf(session: Session, publicKey: string): Promise<VerifiedEvidence> {
  const { actions, signal, options } = session
  if (options.evidence !== undefined) return actions.verifyEvidenceAt({ location: options.evidence, publicKey }, signal)
  return withBackup(session, (storage, backupId) =>
    actions.verifyNewestEvidence(storage, { backupId, publicKey }, signal),
  )
}

function formatVerified({ ok, problems, missing, key_id, evidence }: VerifiedEvidence, style: OutputStyle): string[] {
  const { backup, result, scope, finished_at, tool } = evidence
  const claim = `drill of backup ${backup.id}, generation ${backup.generation}: ${result}, ${scope}, ${finished_at}, kafka-backup ${tool.version}`
  return [
    ok ? style.good(`Authentic: signed with key ${key_id}, unchanged`) : style.bad('NOT AUTHENTIC'),
    ...formatText(printable(claim), style, '  '),
    ...problems.flatMap(problem => formatText(style.bad(printable(problem)), style, '  ')),
    ...missing.map(name => `  ${name} is not there`),
  ]
}
