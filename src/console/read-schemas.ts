import { readSubject } from '../archive/read-registry.ts'
import { resolveReference, type SchemaVersion, versionKey } from '../archive/registry-model.ts'
import { KafkaBackupError } from '../errors.ts'
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
): Promise<ReferenceNode[]> {
  const nodes = new Map<string, ReferenceNode>()
  const open = [{ ...root, level: 0 }]
  for (let at = 0; at < open.length && nodes.size < MAX_NODES; at++) {
    const one = open[at]
    const key = one && versionKey(one.subject, one.version)
    if (!one || key === undefined || nodes.has(key)) continue
    const refersTo = one.references.map(({ subject, version }) => ({
      subject: resolveReference(subject, one.subject),
      version,
    }))
    const { subject, version, level } = one
    nodes.set(key, { key, subject, version, level, refersTo: refersTo.map(to => versionKey(to.subject, to.version)) })
    for (const to of refersTo.slice(0, MAX_NODES)) {
      if (open.length > MAX_NODES) break
      const found = await versionsOf(backup, to.subject, signal).catch(() => [])
      const next = found.find(each => each.version === to.version)
      if (next) open.push({ ...next, level: level + 1 })
    }
  }
  return [...nodes.values()]
}

export function versionNotFound(subject: string, version: number | undefined): KafkaBackupError {
  const which = version === undefined ? 'versions' : `version ${version}`
  return new KafkaBackupError(
    'SCHEMAS_NOT_FOUND',
    `subject ${subject.slice(0, 260)} has no ${which} in this generation`,
  )
}
