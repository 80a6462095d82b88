import { readFile } from 'node:fs/promises'
import { joinSubject, type RegistrySnapshot, splitSubject, versionKey } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import { createIdMap, type GuidPair, type IdMap, type IdPair } from '../ids/id-map.ts'
import type { RegistryPlan } from './plan/restore-step.ts'

/** An ID above all that registries give: a placeholder for those that are not given yet. */
const NOT_GIVEN_YET = 0x7fff_ffff

/** Maps source IDs to target IDs, as far as a plan knows them. */
export function idPairsOf({ knownIds }: Pick<RegistryPlan, 'knownIds'>): IdPair[] {
  return [...knownIds].map(([key, target]) => {
    const { context, name } = splitSubject(key)
    return { context, source: Number(name), target }
  })
}

/** The map by which records are rewritten: every ID has been seen in the target. */
export function idMapOf(plan: RegistryPlan, backup: RegistrySnapshot, target: RegistrySnapshot): IdMap {
  return createIdMap(idPairsOf(plan), guidPairsOf(plan, backup, target, 'none'))
}

/** The same before schemas are registered: what gets an ID then has one that no record can have by chance. */
export function provisionalIdMap(plan: RegistryPlan, backup: RegistrySnapshot, target: RegistrySnapshot): IdMap {
  const coming = plan.versions
    .filter(({ id, version }) => id === null && version !== null)
    .map(({ source }) => ({ context: splitSubject(source.subject).context, source: source.id, target: NOT_GIVEN_YET }))
  return createIdMap(
    [...coming, ...idPairsOf(plan)],
    guidPairsOf(plan, backup, target, givesGuids(target) ? 'same' : 'none'),
  )
}

/** An empty registry does not show it: what it gives is known when the schemas are registered, before any record is written. */
function givesGuids({ versions }: RegistrySnapshot): boolean {
  return versions.length === 0 || versions.some(({ guid }) => guid !== null)
}

/**
 * Every GUID that the target has, and for those of the backup their counterpart: null is none, undefined is one that
 * is not registered yet.
 */
function guidPairsOf(
  { versions }: RegistryPlan,
  backup: RegistrySnapshot,
  target: RegistrySnapshot,
  notYet: 'same' | 'none',
): GuidPair[] {
  const theirs = new Map(target.versions.map(one => [versionKey(one.subject, one.version), one.guid]))
  const ours = new Map(backup.versions.map(one => [versionKey(one.subject, one.version), one.guid]))
  const present = target.versions.flatMap(({ guid }) => (guid ? [{ source: guid, target: guid }] : []))
  const carried = versions.flatMap(({ source, subject, version }): GuidPair[] => {
    const guid = ours.get(versionKey(source.subject, source.version))
    if (!guid) return []
    const found = version === null ? null : theirs.get(versionKey(subject, version))
    return [{ source: guid, target: found === undefined && notYet === 'same' ? guid : (found ?? null) }]
  })
  return [...present, ...carried]
}

const FIELD = 'enterprise.schema_registry.restore.id_mapping_file'
const MAX_ID = 0x7fff_ffff

/** Source ID to target ID as a user wrote it, `{"5": 12}`; `:.context:5` is one of another context. */
export async function readIdMapping(path: string): Promise<Map<string, number>> {
  const tree = parse(await read(path), path)
  const mapping = new Map<string, number>()
  for (const [key, target] of Object.entries(tree)) {
    const { context, name } = splitSubject(key)
    if (!/^[1-9]\d*$/.test(name) || Number(name) > MAX_ID) {
      throw invalid(path, `${JSON.stringify(key)} is not a schema ID; write "5", or ":.context:5"`)
    }
    if (!isId(target)) throw invalid(path, `${key} is mapped to ${JSON.stringify(target)}, which is not a schema ID`)
    mapping.set(joinSubject({ context, name }), target)
  }
  return mapping
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const { message } = cause as Error
    throw new KafkaBackupError('CONFIG_UNREADABLE', `${FIELD}: ${path} cannot be read: ${message}`, { cause })
  }
}

function parse(text: string, path: string): Record<string, unknown> {
  let tree: unknown
  try {
    tree = JSON.parse(text)
  } catch (cause) {
    throw invalid(path, 'it is not JSON', cause)
  }
  if (typeof tree === 'object' && tree !== null && !Array.isArray(tree)) return tree as Record<string, unknown>
  throw invalid(path, 'it is not a JSON object of source IDs to target IDs')
}

function isId(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_ID
}

function invalid(path: string, wrong: string, cause?: unknown): KafkaBackupError {
  return new KafkaBackupError('CONFIG_INVALID', `${FIELD}: ${path}: ${wrong}`, { cause })
}
