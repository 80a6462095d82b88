import { readSubject } from '../archive/read-registry.ts'
import { resolveReference, type SchemaVersion, versionKey } from '../archive/registry-model.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { OpenedBackup } from './archive-reader.ts'

/** A version of a schema, and what it refers to. */
export interface ReferenceNode {
  key: string
  subject: string
  version: number
  /** How far it is from the one that is shown. */
  level: number
  refersTo: readonly string[]
}

export interface ReferenceGraph {
  nodes: readonly ReferenceNode[]
  /** There are more than can be drawn. */
  isCut: boolean
}

/** All versions of a subject. SCHEMAS_NOT_FOUND where the generation has none. */
export async function versionsOf(backup: OpenedBackup, name: string, signal: AbortSignal): Promise<SchemaVersion[]> {
  const { manifest, location } = backup
  const subject = manifest.schema_registry?.subjects.find(one => one.name === name)
  if (subject) return (await readSubject(location.storage, manifest.backup_id, subject, signal)).versions
  const message = `generation ${manifest.generation} has no subject ${name.slice(0, 260)}`
  throw new KafkaBackupError('SCHEMAS_NOT_FOUND', message)
}

/** A graph of more cannot be read. */
const MAX_NODES = 40

/** What a version refers to, directly and through others. */
export async function referencesOf(
  backup: OpenedBackup,
  root: SchemaVersion,
  signal: AbortSignal,
): Promise<ReferenceGraph> {
  const nodes: ReferenceNode[] = []
  const open = [{ ...root, level: 0 }]
  const seen = new Set([versionKey(root.subject, root.version)])
  let isCut = false
  for (const { subject, version, references, level } of open) {
    const refersTo = references.map(one => ({
      subject: resolveReference(one.subject, subject),
      version: one.version,
    }))
    const keys = refersTo.map(to => versionKey(to.subject, to.version))
    nodes.push({ key: versionKey(subject, version), subject, version, level, refersTo: [...new Set(keys)] })
    for (const [at, to] of refersTo.entries()) {
      const key = keys[at]
      if (key === undefined || seen.has(key)) continue
      isCut ||= seen.size === MAX_NODES
      if (isCut) break
      seen.add(key)
      const next = await findVersion(backup, to, signal)
      if (next) open.push({ ...next, level: level + 1 })
    }
  }
  return { nodes, isCut }
}

/** Undefined where the backup does not have it, or has it damaged: the words below the graph name it. */
async function findVersion(
  backup: OpenedBackup,
  { subject, version }: { subject: string; version: number },
  signal: AbortSignal,
): Promise<SchemaVersion | undefined> {
  try {
    return (await versionsOf(backup, subject, signal)).find(one => one.version === version)
  } catch (error) {
    if (!hasCode(error, 'SCHEMAS_NOT_FOUND', 'ARCHIVE_DAMAGED')) throw error
    return undefined
  }
}

export function versionNotFound(subject: string, version: number | undefined): KafkaBackupError {
  const which = version === undefined ? 'versions' : `version ${version}`
  return new KafkaBackupError(
    'SCHEMAS_NOT_FOUND',
    `subject ${subject.slice(0, 260)} has no ${which} in this generation`,
  )
}
