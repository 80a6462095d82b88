import type { CopyOptions, CopyReport, Sides } from '../copy/sides.ts'
import { KafkaBackupError } from '../errors.ts'
import { assertFit } from '../storage/access.ts'
import { formatLocation, type StorageOptions } from '../storage/location.ts'
import { assertExists, type Hooks, withStorage } from './parts.ts'

export interface CopyPlaces {
  from: StorageOptions
  to: StorageOptions
}

/** Both locations, opened. */
export interface Copies {
  from: string
  to: string
  /** Of all backups at the source. */
  listIds(signal: AbortSignal): Promise<string[]>
  copy(backupId: string, options: CopyOptions, signal: AbortSignal): Promise<CopyReport>
}

/** Opens both locations for the time of the work. The source must be there, the target is made where it is not. */
export function withCopies<T>(
  places: CopyPlaces,
  hooks: Hooks,
  signal: AbortSignal,
  work: (copies: Copies) => Promise<T>,
): Promise<T> {
  return openSides(places, hooks, signal, async sides => {
    const [{ copyBackup }, { listBackupIds }] = await Promise.all([
      import('../copy/copy-backup.ts'),
      import('../archive/catalog.ts'),
    ])
    return work({
      from: sides.source.location,
      to: sides.target.location,
      listIds: scoped => listBackupIds(sides.source, scoped),
      copy: async (backupId, options, scoped) => {
        if (!options.dryRun) await assertFit({ options: places.to, storage: sides.target }, scoped)
        return copyBackup(sides, backupId, options, scoped)
      },
    })
  })
}

/** The one place that decides how each side is opened: with which options, and with which keys. */
function openSides<T>(
  { from, to }: CopyPlaces,
  hooks: Hooks,
  signal: AbortSignal,
  work: (sides: Sides) => Promise<T>,
): Promise<T> {
  if (formatLocation(from) === formatLocation(to)) {
    throw new KafkaBackupError('USAGE', `source and target of the copy are both ${formatLocation(from)}`)
  }
  return withStorage(from, hooks, async source => {
    await assertExists({ options: from, storage: source }, signal)
    return withStorage(to, hooks, target => work({ source, target }))
  })
}
