import type { Controller } from '../resource/resource.ts'
import type { PrinterColumn } from './definition.ts'

const phase = column('Phase', 'string', '.status.phase')
const records = column('Records', 'integer', '.status.records')
const bytes = column('Bytes', 'integer', '.status.bytes')
const done = { ...column('Done %', 'integer', '.status.progress.percent'), description: 'Of the run under way.' }
const lastSuccess = column('Last Success', 'date', '.status.lastSuccessfulTime')
const age = column('Age', 'date', '.metadata.creationTimestamp')

const details: PrinterColumn[] = [
  wide(column('Reason', 'string', '.status.reason')),
  wide(column('Message', 'string', '.status.message')),
]

/** What `kubectl get` shows of each kind. Times to come are texts: a date is shown as an age. */
export const printerColumns: Record<Controller, PrinterColumn[]> = {
  backup: [
    phase,
    column('Schedule', 'string', '.spec.schedule'),
    lastSuccess,
    records,
    bytes,
    age,
    wide(done),
    wide(column('Mode', 'string', '.spec.mode')),
    wide(column('Suspended', 'boolean', '.spec.suspend')),
    wide(column('Next', 'string', '.status.nextScheduleTime')),
    wide(column('Last Verify', 'date', '.status.lastVerifyTime')),
    wide(column('Backup ID', 'string', '.status.backupId')),
    ...details,
  ],
  restore: [
    phase,
    column('Backup ID', 'string', '.spec.backupId'),
    done,
    records,
    bytes,
    age,
    wide(column('Dry Run', 'boolean', '.spec.dryRun')),
    wide(column('Completed', 'date', '.status.completionTime')),
    ...details,
  ],
  offset_reset: [
    phase,
    column('Strategy', 'string', '.spec.strategy'),
    column('Snapshot', 'string', '.status.snapshotId'),
    age,
    wide(column('Groups', 'string', '.spec.groups')),
    wide(column('Dry Run', 'boolean', '.spec.dryRun')),
    wide(column('Completed', 'date', '.status.completionTime')),
    ...details,
  ],
  offset_rollback: [
    phase,
    column('Operation', 'string', '.spec.operation'),
    column('Snapshot', 'string', '.status.snapshotId'),
    age,
    wide(column('Of Reset', 'string', '.spec.resetRef.name')),
    wide(column('Dry Run', 'boolean', '.spec.dryRun')),
    wide(column('Completed', 'date', '.status.completionTime')),
    ...details,
  ],
}

function column(name: string, type: PrinterColumn['type'], jsonPath: string): PrinterColumn {
  return { name, type, jsonPath }
}

function wide(shown: PrinterColumn): PrinterColumn {
  return { ...shown, priority: 1 }
}
