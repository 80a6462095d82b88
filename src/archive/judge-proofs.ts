import { formatAgo } from '../lib/units.ts'
import { failedDrillOf } from './drill-record.ts'
import type { BackupSummary } from './list-backups.ts'
import type { CommandText, StatusFinding } from './status-finding.ts'
import { damageOf, repeatingCommand } from './verification.ts'

type Readable = Exclude<BackupSummary, { error: string }>

const DAY_MS = 86_400_000
/** Every byte should be read, and a restore tried, so often. */
const PROOF_DAYS = 30

/** A drill of a job needs the job file of a restore. */
function drillAction({ backup_id }: Readable, at = ''): string {
  if (!at.startsWith('--path')) return 'run `kafka-backup drill` with the job file of a restore'
  return `run \`kafka-backup drill --backup-id ${backup_id} ${at} --target <brokers>\``
}

/** Pure. Whether the bytes of a backup were read, and restored by a drill. */
export function judgeProofs(
  summary: Readable,
  nowMs: number,
  { command, at }: { command: CommandText; at: string | undefined },
): StatusFinding[] {
  const { last_deep_verification: deep, last_damage: open } = summary
  const damage = damageOf(summary)
  const findings: StatusFinding[] = []
  if (damage) {
    const message = `a verification found damage ${formatAgo(damage.finished_at, nowMs)}`
    findings.push({
      level: 'critical',
      kind: 'damaged',
      message,
      action: `run ${command(repeatingCommand({ ...damage, deep: true }))}`,
    })
  } else if (open && 'error' in open) {
    const message = `the result of a verification cannot be read: ${open.error}`
    findings.push({
      level: 'warning',
      kind: 'verification_unknown',
      message,
      action: `run ${command('verify --deep')}`,
    })
  } else if (!deep || ('finished_at' in deep && isOldProof(deep.finished_at, nowMs))) {
    const message = deep ? `no byte was read for ${PROOF_DAYS} days` : 'its bytes were never verified'
    findings.push({
      level: 'notice',
      kind: 'not_verified',
      message,
      action: `run ${command('verify --deep')}`,
    })
  }
  return [...findings, ...judgeDrills(summary, nowMs, { command, at })]
}

function judgeDrills(
  summary: Readable,
  nowMs: number,
  { command, at }: { command: CommandText; at: string | undefined },
): StatusFinding[] {
  const { last_proven_drill: proven, last_failed_drill: open } = summary
  const failed = failedDrillOf(summary)
  if (failed) {
    const isLast = failed === summary.last_drill
    const later = isLast ? '' : ', and no later drill has proven this part'
    const message = `${isLast ? 'the last' : 'a'} drill, ${formatAgo(failed.finished_at, nowMs)}, did not prove the backup (${failed.scope})${later}`
    const action = `${command('describe')} shows it; read the report in its evidence`
    return [{ level: 'critical', kind: 'drill_failed', message, action }]
  }
  if (open && 'error' in open) {
    const message = `the result of a drill cannot be read: ${open.error}`
    return [{ level: 'warning', kind: 'drill_unknown', message, action: drillAction(summary, at) }]
  }
  if (proven && !('finished_at' in proven && isOldProof(proven.finished_at, nowMs))) return []
  const message = proven ? `no successful drill for ${PROOF_DAYS} days` : 'never proven by a drill'
  return [{ level: 'notice', kind: 'not_drilled', message, action: drillAction(summary, at) }]
}

function isOldProof(time: string, nowMs: number): boolean {
  return nowMs - Date.parse(time) > PROOF_DAYS * DAY_MS
}
