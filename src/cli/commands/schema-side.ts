import { usageError } from '../../errors.ts'
import {
  type ChosenSide,
  jobBackupSide,
  jobRegistrySide,
  locatedSide,
  type SchemaSide,
  urlSide,
} from '../../jobs/schema-sides.ts'
import type { Session } from '../session.ts'
import { parseGeneration } from './generation-choice.ts'

/** The side named by `--registry`, `--config`, or `--path` and `--backup-id`. */
export async function chooseSide(session: Session): Promise<ChosenSide> {
  const { registry, source, config, path, backupId, generation } = session.options
  if (registry !== undefined) {
    const others = { config, path, 'backup-id': backupId, generation, source }
    refuseTogetherWith('--registry', others)
    refuseSet(session)
    return { side: urlSide(registry, '--registry') }
  }
  if (source === 'registry') {
    refuseTogetherWith('--source registry', { path, 'backup-id': backupId, generation })
    if (config === undefined) throw usageError('--source registry needs --config; without a job, use --registry')
    const job = await session.loadClusterlessJob(config)
    return { side: jobRegistrySide(job), job }
  }
  return chooseBackup(session)
}

/** The backup of the job, or the one named by `--path` and `--backup-id`. */
export async function backupSideOf(session: Session): Promise<SchemaSide> {
  return (await chooseBackup(session)).side
}

/** The other side of `diff`: named by the `--against` options, by default the registry of the job. */
export async function chooseOther(session: Session, first: ChosenSide): Promise<ChosenSide> {
  const { against, againstPath, againstBackupId, againstGeneration, source } = session.options
  if (against !== undefined) {
    const others = { path: againstPath, 'backup-id': againstBackupId, generation: againstGeneration }
    refuseTogetherWith(
      '--against',
      Object.fromEntries(Object.entries(others).map(([name, one]) => [`against-${name}`, one])),
    )
    if (/^https?:\/\//i.test(against)) return { side: urlSide(against, '--against') }
    const job = await session.loadOtherClusterlessJob(against)
    return { side: jobRegistrySide(job), job }
  }
  if ([againstPath, againstBackupId, againstGeneration].some(one => one !== undefined)) {
    return { side: otherBackup(session, first.side) }
  }
  if (first.job && source !== 'registry') return { side: jobRegistrySide(first.job), job: first.job }
  throw usageError('pass --against, or --against-path and --against-backup-id')
}

/** Defaults to the values of the first side. */
function otherBackup(session: Session, first: SchemaSide): SchemaSide {
  const { againstPath, againstBackupId, againstGeneration } = session.options
  const generation = parseGeneration('--against-generation', againstGeneration)
  const backupId = againstBackupId ?? (first.kind === 'backup' ? first.backupId : undefined)
  if (backupId === undefined) throw usageError('pass --against-backup-id')
  if (againstPath !== undefined) return locatedSide(againstPath, backupId, generation, session.givenKeys())
  if (first.kind === 'backup') {
    const { asOfMs: _, ...place } = first
    return { ...place, backupId, generation }
  }
  throw usageError('pass --against-path')
}

async function chooseBackup(session: Session): Promise<ChosenSide> {
  const { path, config, backupId, generation: text } = session.options
  const generation = parseGeneration('--generation', text)
  if (path !== undefined && config !== undefined) throw usageError('pass either --path or --config, not both')
  if (config !== undefined) {
    const job = await session.loadClusterlessJob(config)
    return { side: jobBackupSide({ ...job, ...session.givenKeys() }, backupId, generation), job }
  }
  refuseSet(session)
  if (path === undefined) throw usageError('pass --path and --backup-id, or --config')
  if (backupId === undefined) throw usageError('pass --backup-id or --config')
  return { side: locatedSide(path, backupId, generation, session.givenKeys()) }
}

function refuseTogetherWith(option: string, others: Record<string, string | undefined>): void {
  const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? []
  if (other !== undefined) throw usageError(`${option} and --${other} exclude each other`)
}

function refuseSet({ options: { set, config } }: Session): void {
  if (set.length > 0 && config === undefined) throw usageError('--set needs --config')
}
