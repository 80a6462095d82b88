import { basename, dirname, resolve } from 'node:path'
import { KafkaBackupError } from '../../errors.ts'
import { keysOf, type PlaceKeys } from '../../jobs/encryption.ts'
import type { OffsetsPlace, OffsetsSession } from '../../jobs/offsets.ts'
import type { PositionSelection } from '../../offsets/select-groups.ts'
import { parseLocation } from '../../storage/location.ts'
import type { OffsetAction } from '../offsets-table.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { Session } from '../session.ts'

/** Opens the cluster and storage of the options during the work. */
export async function withOffsets<T>(session: Session, work: (offsets: OffsetsSession) => Promise<T>): Promise<T> {
  const place = await placeOf(session)
  return session.withProgress('offsets', 'querying the brokers', async onProgress => {
    const offsets = await session.actions.openOffsets(place, { onProgress })
    try {
      return await work(offsets)
    } finally {
      await offsets.close()
    }
  })
}

export async function placeOf(session: Session): Promise<OffsetsPlace> {
  const { bootstrapServer, config, set, path, file, snapshotAs, acceptPlainSnapshot } = session.options
  if (bootstrapServer !== undefined && config !== undefined) throw usage('pass either --bootstrap-server or --config')
  if (config === undefined && set.length > 0) throw usage('--set needs --config')
  if (file !== undefined && snapshotAs !== undefined) throw usage('pass either --file or --snapshot-as')
  const own = {
    ...(path !== undefined && { storage: parseLocation(path) }),
    ...(file !== undefined && placeOfFile(file)),
    ...(snapshotAs !== undefined && { snapshotAs }),
    ...(acceptPlainSnapshot && { acceptsPlainSnapshot: true }),
  }
  if (config !== undefined) {
    const job = await session.loadClusterlessJob(config)
    const cluster = job.mode === 'restore' ? job.target : job.source
    return {
      ...(cluster && { cluster }),
      storage: job.storage,
      ...own,
      ...keysFor(session, job),
    }
  }
  const keyed = { ...own, ...keysFor(session) }
  if (bootstrapServer === undefined) return keyed
  const plain = { path: '.', backupId: 'offsets', target: bootstrapServer }
  return { cluster: (await session.actions.plainRestoreJob(plain)).target, ...keyed }
}

function keysFor(session: Session, { encryption }: PlaceKeys = {}): Pick<OffsetsPlace, 'keys'> {
  const keys = keysOf({ ...session.givenKeys(), ...(encryption && { encryption }) })
  return Object.keys(keys).length > 0 ? { keys } : {}
}

function placeOfFile(file: string): OffsetsPlace {
  const path = resolve(file)
  return { file: { folder: dirname(path), name: basename(path) } }
}

export function selectionOf({ group, topic, partition }: CommandOptions): PositionSelection {
  const partitions = split(partition).map(text => {
    if (/^\d{1,9}$/.test(text)) return Number(text)
    throw usage(`--partition takes numbers, not ${JSON.stringify(text)}`)
  })
  return { groups: group, topics: split(topic), partitions }
}

function split(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map(one => one.trim())
    .filter(one => one !== '')
}

const planned = ['group', 'topic', 'partition', 'strategy', 'timestamp', 'offset', 'mapping', 'fromSnapshot'] as const
const planning = [...planned, 'backupId', 'topicMapping', 'since', 'acceptPlainSnapshot'] as const

/** The options of each action, in addition to those for cluster and storage. */
const optionsOf: Record<OffsetAction, readonly (keyof CommandOptions)[]> = {
  list: ['group'],
  show: ['group', 'topic', 'partition'],
  plan: planning,
  reset: [...planning, 'snapshotAs', 'dryRun', 'yes'],
  script: planning,
  snapshot: ['group'],
  snapshots: [],
  rollback: ['snapshotId', 'snapshotAs', 'group', 'dryRun', 'yes', 'acceptPlainSnapshot'],
  verify: ['snapshotId', 'strict', 'acceptPlainSnapshot'],
  delete: ['snapshotId', 'yes'],
}

/** Refuses options that the action would ignore. */
export function refuseOthers(action: OffsetAction, options: CommandOptions): void {
  const others = [...planning, 'snapshotId', 'snapshotAs', 'dryRun', 'strict', 'yes'] as const
  const given = others.filter(name => {
    const value = options[name]
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false
  })
  const wrong = given.find(name => !optionsOf[action].includes(name))
  if (wrong === undefined) return
  const name = wrong.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
  throw usage(`--${name} is not an option of \`offsets ${action}\``)
}

/** With `--file`, the file contains the snapshot ID. */
export function snapshotIdOf({ snapshotId, file }: CommandOptions): string {
  if (snapshotId !== undefined && file !== undefined) throw usage('pass either --snapshot-id or --file, not both')
  if (snapshotId === undefined && file === undefined) throw usage('pass --snapshot-id or --file')
  return snapshotId ?? ''
}

export function usage(message: string): KafkaBackupError {
  return new KafkaBackupError('USAGE', message, { help: 'See `kafka-backup offsets --help`.' })
}
