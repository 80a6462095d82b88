import { formatBytes, formatDuration } from '../lib/units.ts'
import type { Log, LogFields, LogLevel } from '../observe/log.ts'
import type { ProgressEvent } from '../observe/progress.ts'
import { plural } from './text.ts'

/** Shorter waits are normal during a leader election; longer ones are logged. */
const NOTABLE_WAIT_MS = 1000

/** Formats an event as a log line: the complete text, and its parts as fields for programs. */
export function logEvent(log: Log, event: ProgressEvent): void {
  const level = levelOf(event)
  if (log.has(level)) log.write(level, messageOf(event), fieldsOf(event))
}

function levelOf(event: ProgressEvent): LogLevel {
  switch (event.type) {
    case 'gap':
    case 'warning':
    case 'waiting':
      return 'warn'
    case 'retry':
      return event.delayMs >= NOTABLE_WAIT_MS ? 'warn' : 'info'
    case 'planned':
    case 'committed':
    case 'shard_written':
    case 'schemas_read':
    case 'groups_read':
    case 'note':
    case 'pruned':
    case 'filled':
    case 'released':
      return 'info'
    case 'groups':
    case 'schemas':
      return event.done === event.total ? 'info' : 'debug'
    case 'resumed':
    case 'round':
    case 'polled':
    case 'idle':
    case 'bounds':
    case 'begun':
    case 'copied':
    case 'compared':
    case 'removed':
    case 'measured':
    case 'recovery_windows':
    case 'checked':
    case 'transferred':
      return 'debug'
  }
}

function messageOf(event: ProgressEvent): string {
  switch (event.type) {
    case 'gap':
      return describeGap(event)
    case 'warning':
    case 'waiting':
    case 'note':
      return event.message
    case 'removed':
      return `${event.backupId}: ${event.objects} of ${plural(event.totalObjects, 'object')} removed`
    case 'pruned':
      return `pruned: ${plural(event.backups, 'backup')} expired, ${plural(event.segments, 'segment')} and ${plural(event.objects, 'object')} (${formatBytes(event.bytes)}) removed`
    case 'retry':
      return `${event.what}; trying again in ${formatDuration(event.delayMs)}`
    case 'planned':
      return `${plural(event.partitions, 'partition')} of ${plural(event.topics, 'topic')} to ${taskOf(event)}`
    case 'committed':
    case 'shard_written':
      return describeWritten(event)
    case 'copied':
    case 'begun':
    case 'compared':
      return describePartition(event)
    case 'filled':
    case 'released':
      return describeStep(event)
    case 'schemas_read':
    case 'groups_read':
      return describeRead(event)
    case 'groups':
    case 'schemas':
      return describeDone(event)
    case 'resumed':
      return `continuing from generation ${event.generation} of ${event.committedAt}`
    case 'round':
      return `a round ended ${event.ok ? 'well' : 'with a failure'}`
    case 'polled':
      return 'read topic settings, schemas, consumer groups and access rules'
    case 'idle':
      return `the next round starts in ${formatDuration(event.ms)}`
    case 'bounds':
      return `checked the ends of ${plural(event.partitions.length, 'partition')}`
    case 'measured':
    case 'recovery_windows':
      return describeMeasure(event)
    case 'checked':
    case 'transferred':
      return `${event.objects} of ${plural(event.totalObjects, 'object')} ${event.type === 'checked' ? 'checked' : 'copied'}`
  }
}

function describePartition(event: Extract<ProgressEvent, { type: 'copied' | 'begun' | 'compared' }>): string {
  const name = `${event.topic}/${event.partition}`
  if (event.type === 'begun') return `${name}: started`
  if (event.type === 'compared') return `${name}: ${plural(event.records, 'record')} compared`
  return `${name}: ${plural(event.records, 'record')}, ${formatBytes(event.bytes)} copied`
}

function describeStep(event: Extract<ProgressEvent, { type: 'filled' | 'released' }>): string {
  const { done, total } = event
  if (event.type === 'filled')
    return `${event.topic}: this run has written its records, ${done} of ${plural(total, 'topic')} done`
  return `group ${event.group}: offsets committed, ${done} of ${plural(total, 'consumer group')} done`
}

function describeRead(event: Extract<ProgressEvent, { type: 'schemas_read' | 'groups_read' }>): string {
  return event.type === 'schemas_read'
    ? `read ${plural(event.versions, 'schema version')} of ${plural(event.subjects, 'subject')}`
    : `read ${plural(event.positions, 'committed offset')} of ${plural(event.groups, 'consumer group')}`
}

function describeWritten(event: Extract<ProgressEvent, { type: 'committed' | 'shard_written' }>): string {
  const what = event.type === 'committed' ? `committed generation ${event.generation}` : `wrote ${event.key}`
  return `${what}${event.complete ? ', complete' : ''}`
}

function describeMeasure(event: Extract<ProgressEvent, { type: 'measured' | 'recovery_windows' }>): string {
  if (event.type === 'measured') return `the backup occupies ${formatBytes(event.storedBytes)} in the store`
  return `read the recovery windows of ${plural(event.topics.length, 'topic')}`
}

function describeDone({ type, done, total }: Extract<ProgressEvent, { type: 'groups' | 'schemas' }>): string {
  if (type === 'groups') return `${done} of ${plural(total, 'consumer group')} restored`
  return `${done} of ${plural(total, 'schema version')} registered`
}

function describeGap({ topic, partition, from, to, reason }: Extract<ProgressEvent, { type: 'gap' }>): string {
  return `${topic}/${partition}: offsets ${from} to ${to ?? 'unknown'} were lost at the source (${reason})`
}

function taskOf({ unit, phase }: Extract<ProgressEvent, { type: 'planned' }>): string {
  if (phase === 'compare') return 'compare'
  return unit === 'records' ? 'restore' : 'copy'
}

function fieldsOf(event: ProgressEvent): LogFields {
  switch (event.type) {
    case 'warning':
    case 'waiting':
    case 'note':
      return { event: event.type }
    case 'resumed':
      return { event: event.type, generation: event.generation, committed_at: event.committedAt }
    case 'recovery_windows':
      return { event: event.type, topics: event.topics.length }
    case 'planned': {
      const { type, byTopic: _, ...fields } = event
      return { event: type, ...fields }
    }
    case 'bounds':
      return { event: event.type, partitions: event.partitions.length }
    case 'retry':
      return { event: event.type, delay_ms: event.delayMs }
    case 'measured':
      return { event: event.type, stored_bytes: event.storedBytes }
    case 'removed':
      return {
        event: event.type,
        backup_id: event.backupId,
        objects: event.objects,
        total_objects: event.totalObjects,
      }
    case 'checked':
    case 'transferred': {
      const { objects, bytes, totalObjects, totalBytes } = event
      return { event: event.type, objects, bytes, total_objects: totalObjects, total_bytes: totalBytes }
    }
    default: {
      const { type, ...fields } = event
      return { event: type, ...fields }
    }
  }
}
