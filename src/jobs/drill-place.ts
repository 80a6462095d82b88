import { reportsPrefix } from '../archive/layout.ts'
import { EVIDENCE_FILES } from '../drill/verify-evidence.ts'
import { KafkaBackupError, usageError } from '../errors.ts'
import { withMovedKeys } from '../storage/moved-keys.ts'
import type { Storage } from '../storage/storage.ts'

/** Where drills of a backup keep their evidence, their journals and their lease. */
export interface EvidencePlace {
  storage: Storage
  /** The text for people of a folder of it. */
  locate(folder: string): string
}

/** A location that is not that of the backup. */
export function evidenceElsewhere(storage: Storage, backupAt: Storage): EvidencePlace {
  if (storage.location === backupAt.location) {
    throw usageError(
      `--evidence ${storage.location} is the location of the backup: pass another one, or leave it out to keep the evidence in the folder of the backup`,
    )
  }
  return { storage, locate: folder => `${storage.location}/${folder}` }
}

/** In the folder of the backup, among its reports, which every prune keeps; encrypted if the backup is. */
export function evidenceInBackup(storage: Storage, backupId: string): EvidencePlace {
  const to = `${reportsPrefix(backupId)}evidence/`
  return {
    storage: withMovedKeys(storage, { from: `${backupId}/`, to }),
    locate: folder => `${storage.location}/${to}${folder.slice(backupId.length + 1)}`,
  }
}

/** The newest complete evidence of the backup: its folder, and a storage of its files. Folders begin with the time of the drill. */
export async function newestEvidence(
  { storage, locate }: EvidencePlace,
  backupId: string,
  signal: AbortSignal,
): Promise<{ folder: string; files: Storage }> {
  const prefix = `${backupId}/drills/`
  let newest = ''
  for await (const { key } of storage.list(prefix, signal)) {
    if (key.endsWith(`/${EVIDENCE_FILES.document}`) && key > newest) newest = key
  }
  if (newest === '') {
    throw new KafkaBackupError('STORAGE_NOT_FOUND', `there is no evidence of a drill at ${locate(prefix)}`, {
      help: 'Pass the folder of one drill with --evidence, or run a drill without --evidence first.',
    })
  }
  const folder = newest.slice(0, -EVIDENCE_FILES.document.length - 1)
  return { folder, files: withMovedKeys(storage, { from: '', to: `${folder}/` }) }
}
