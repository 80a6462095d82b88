import { type BackupRestoreReport, type RestoreParts, runSurveyed } from './restore-backup.ts'
import { refuseMissing } from './shard-plan.ts'
import { type RestoreRequest, surveyRestore } from './survey-restore.ts'

/** Completes a restore whose records shards have written. Where some are missing, it names them and changes nothing. */
export async function finishRestore(
  request: RestoreRequest,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<BackupRestoreReport> {
  const startedAt = parts.clock.monotonic()
  const survey = await surveyRestore(request, parts, signal)
  const surveyMs = parts.clock.monotonic() - startedAt
  const { plan, progress, restoreId } = survey.records
  refuseMissing(plan, progress, restoreId, request.records.existingTopics)
  return runSurveyed(survey, { surveyMs, hasRecords: true }, parts, signal)
}
