import type { AnyController, ResourceSpec } from '../crd/resource.ts'
import { drillOptions } from './drill-document.ts'
import { type JobStep, jobFilePath } from './job-pod.ts'

/**
 * The arguments of the program, as they are to arrive there: `buildJob` guards them against the variables of Kubernetes, and
 * adds the number of the shard, which is one.
 */
export function planArgs(controller: AnyController, spec: ResourceSpec, step: JobStep): string[] {
  const [command, options] = commandOf(controller, spec, step)
  return [...command, '--config', jobFilePath, '--format', 'json', '--log-format', 'json', ...options]
}

type CommandLine = readonly [command: string[], options: string[]]

function commandOf(controller: AnyController, spec: ResourceSpec, step: JobStep): CommandLine {
  switch (controller) {
    case 'backup':
      return backupCommand(spec, step)
    case 'restore':
      return [['restore'], restoreOptions(spec, step)]
    case 'offset_reset':
      return [
        ['offsets', 'reset'],
        [...resetOptions(spec), ...changeOptions(spec, step)],
      ]
    case 'offset_rollback':
      return rollbackCommand(spec, step)
    case 'storage':
      return [['check'], ['--storage']]
    default:
      return controller satisfies never
  }
}

function backupCommand(spec: ResourceSpec, { purpose, stage, backupId }: JobStep): CommandLine {
  if (purpose === 'verify') return [['verify'], spec.verify?.deep ? ['--deep'] : []]
  if (purpose === 'drill') return [['drill', 'run'], drillOptions(spec)]
  if (purpose === 'delete') {
    return [['delete'], spec.mode === 'full' ? ['--match', anyFullBackup(backupId), '--yes'] : ['--yes']]
  }
  // The commit has the report of all shards.
  if (stage === 'shards') return [['backup'], []]
  return [['backup'], stage === 'commit' ? ['--commit', '--report'] : ['--report']]
}

/** The first shard prepares the restore, and the report is that of the Job that completes it. */
function restoreOptions(spec: ResourceSpec, { stage }: JobStep): string[] {
  if (stage === 'shards') return ['--prepare']
  if (stage === 'commit') return ['--finish', '--report']
  return [spec.dryRun ? '--dry-run' : '--report', ...probeOption(spec)]
}

function probeOption({ probe }: ResourceSpec): string[] {
  if (probe === undefined) return []
  return [probe === 'target' ? '--probe-target' : '--probe']
}

function resetOptions(spec: ResourceSpec): string[] {
  const mapping = Object.entries((spec.topicMapping ?? {}) as Record<string, unknown>)
  return [
    ...each('group', spec.groups),
    ...joined('topic', spec.topics),
    ...joined('partition', spec.partitions),
    ...one('strategy', spec.strategy),
    ...one('timestamp', spec.timestamp),
    ...one('offset', spec.offset),
    ...one('backup-id', spec.backupId),
    ...one('from-snapshot', spec.fromSnapshot),
    ...mapping.flatMap(([source, target]) => one('topic-mapping', `${source}=${target}`)),
    ...one('since', spec.since),
    ...plain(spec),
  ]
}

function rollbackCommand(spec: ResourceSpec, step: JobStep): CommandLine {
  const operation = spec.operation ?? 'rollback'
  const snapshot = one('snapshot-id', step.snapshotId ?? spec.snapshotId)
  switch (operation) {
    case 'snapshot':
      return [['offsets', operation], each('group', spec.groups)]
    case 'verify':
      return [
        ['offsets', operation],
        [...snapshot, ...plain(spec), ...(spec.strict ? ['--strict'] : [])],
      ]
    case 'rollback':
      return [
        ['offsets', operation],
        [...snapshot, ...each('group', spec.groups), ...plain(spec), ...changeOptions(spec, step)],
      ]
    default:
      return operation satisfies never
  }
}

function changeOptions({ dryRun }: ResourceSpec, { snapshotAs }: JobStep): string[] {
  return dryRun ? ['--dry-run'] : [...one('snapshot-as', snapshotAs), '--yes']
}

function plain({ acceptPlainSnapshot }: ResourceSpec): string[] {
  return acceptPlainSnapshot ? ['--accept-plain-snapshot'] : []
}

/** In one argument, so that a value may begin with a dash. */
function one(name: string, value: unknown): string[] {
  return value === undefined ? [] : [`--${name}=${String(value)}`]
}

function each(name: string, values: unknown): string[] {
  return Array.isArray(values) ? values.flatMap(value => one(name, value)) : []
}

function joined(name: string, values: unknown): string[] {
  return Array.isArray(values) && values.length > 0 ? one(name, values.join(',')) : []
}

/**
 * The pattern of all backups that a resource of mode `full` makes. It has the form of the time, since `orders-*` would be
 * about the backup `orders-eu` of another resource as well.
 */
export function anyFullBackup(baseId: string): string {
  return `${baseId}-????????t??????z`
}
