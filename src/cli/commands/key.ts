import { KafkaBackupError } from '../../errors.ts'
import type { KeyListing, KeyPlace, RewrapReport } from '../../jobs/keys.ts'
import { parseLocation } from '../../storage/location.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatFields, formatTable } from '../table.ts'
import { formatInstant, plural, printable } from '../text.ts'

type Action = 'new' | 'list' | 'rewrap'

export function run(session: Session): Promise<number> {
  const action = session.options.action as Action
  refuseIdle(session.options, action)
  return { new: runNew, list: runList, rewrap: runRewrap }[action](session)
}

/** Without a file, standard output contains only the key, to pipe it into a secret store. */
async function runNew(session: Session): Promise<number> {
  const { id, file, text } = await session.actions.newKeyJob(session.options.out)
  session.print(
    () =>
      text === undefined ? [`The key ${id} is in ${printable(file ?? '')}. Keep a copy outside the store.`] : [text],
    () => ({ id, ...(file !== undefined && { file }), ...(text !== undefined && { key: text }) }),
  )
  return 0
}

async function runList(session: Session): Promise<number> {
  const listing = await session.actions.listKeysJob(await placeOf(session), session.signal)
  session.print(
    () => formatListing(listing, session.style),
    () => documentOf(listing),
  )
  return 0
}

async function runRewrap(session: Session): Promise<number> {
  const { recipientFile: recipientFiles, newDataKey: isDataKeyNew, kmsKey: kmsKeys } = session.options
  const place = await placeOf(session)
  if (recipientFiles.length === 0 && !place.encryption) {
    throw usage(
      'the new recipients are missing: set `encryption.recipients` in the job of --config, or pass --recipient-file',
    )
  }
  const result = await session.actions.rewrapKeysJob(place, { recipientFiles, isDataKeyNew, kmsKeys }, session.signal)
  session.print(
    () => [
      ...formatListing(result, session.style),
      '',
      `Only these keys can decrypt the backup now; ${plural(result.removed, 'older keys file')} removed. No data was rewritten.`,
      ...formatSnapshots(result.snapshots),
    ],
    () => ({ ...documentOf(result), removed: result.removed, snapshot_keys: result.snapshots }),
  )
  return 0
}

function formatSnapshots({ rewrapped, kept }: RewrapReport['snapshots']): string[] {
  const done = `Offset snapshots: ${plural(rewrapped, 'keys file')} rewrapped for the same recipients.`
  return [
    ...(rewrapped > 0 ? [done] : []),
    ...kept.map(({ key, reason }) => `Former recipients can still open ${printable(key)}: ${printable(reason)}.`),
  ]
}

async function placeOf(session: Session): Promise<KeyPlace> {
  const { path, config, set, backupId, keyFile: keyFiles } = session.options
  if (path !== undefined && config !== undefined) throw usage('pass either --path or --config, not both')
  if (config === undefined && set.length > 0) throw usage('--set needs --config')
  if (config !== undefined) {
    const job = await session.loadClusterlessJob(config)
    return { ...job, backupId: backupId ?? job.backupId, keyFiles }
  }
  if (path === undefined) throw usage('pass --path and --backup-id, or --config')
  if (backupId === undefined) throw usage('pass --backup-id or --config')
  return { storage: parseLocation(path), backupId, keyFiles }
}

function documentOf({ backupId, location, version, createdAt, hideNames, dataKeys, recipients }: KeyListing) {
  return {
    backup_id: backupId,
    location,
    version,
    created_at: createdAt,
    hide_names: hideNames,
    data_keys: dataKeys.map(key => ({ id: key.id, created_at: key.createdAt })),
    recipients,
  }
}

function formatListing(listing: KeyListing, style: OutputStyle): string[] {
  const { backupId, location, version, createdAt, hideNames, dataKeys, recipients } = listing
  const head = formatFields(
    [
      ['Backup', backupId, style.bold],
      ['Location', location],
      ['Keys file', `version ${version}, ${formatInstant(createdAt)}`],
      ['Data key', dataKeys.map(({ id }) => id).join(', ')],
      ['Names', hideNames ? 'hidden' : 'topics and subjects are readable in object keys'],
    ],
    style,
  )
  const rows = formatTable<KeyListing['recipients'][number]>(
    [
      { title: 'KEY TYPE', cell: ({ kind }) => kind },
      { title: 'ID', cell: ({ id }) => id, shrinks: true, paint: text => style.bold(text) },
      { title: 'NAME', wraps: true, cell: ({ name }) => name ?? '-' },
    ],
    recipients,
    style,
  )
  return [...head, '', ...rows]
}

/** Refuses options that would have no effect. */
function refuseIdle(options: CommandOptions, action: Action): void {
  const owners: readonly [option: string, isGiven: boolean, actions: readonly Action[]][] = [
    ['--out', options.out !== undefined, ['new']],
    ['--config', options.config !== undefined, ['list', 'rewrap']],
    ['--path', options.path !== undefined, ['list', 'rewrap']],
    ['--backup-id', options.backupId !== undefined, ['list', 'rewrap']],
    ['--key-file', options.keyFile.length > 0, ['rewrap']],
    ['--kms-key', options.kmsKey.length > 0, ['rewrap']],
    ['--recipient-file', options.recipientFile.length > 0, ['rewrap']],
    ['--new-data-key', options.newDataKey, ['rewrap']],
  ]
  for (const [option, isGiven, actions] of owners) {
    if (isGiven && !actions.includes(action)) {
      throw usage(`${option} is not for \`key ${action}\`, but for ${actions.join(' and ')}`)
    }
  }
}

function usage(message: string): KafkaBackupError {
  return new KafkaBackupError('USAGE', message, { help: 'See `kafka-backup key --help`.' })
}
