import { KafkaBackupError } from '../../errors.ts'
import type { SchemaVersion } from '../model.ts'
import type { RegistryClient } from './client.ts'
import type { Identity } from './flavour.ts'
import { listSchemas } from './list-schemas.ts'
import { listSubjects, SubjectWalk } from './walk-subjects.ts'

/** Versions of a registry, soft-deleted ones too, by subject and version. */
export interface Inventory {
  versions: readonly SchemaVersion[]
  /** Subjects that have settings and no versions, as far as the registry tells. */
  aliases: readonly string[]
  warnings: readonly string[]
}

/** A registry changes while it is read. A pass that finds what the one before found is taken as true. */
const MAX_PASSES = 6

/**
 * Through the list of all schemas where that is whole, else subject by subject. It holds at least the subjects that are
 * wanted, and all that they refer to.
 */
export async function readInventory(
  client: RegistryClient,
  identity: Identity,
  isWanted: (subject: string) => boolean,
  signal: AbortSignal,
): Promise<Inventory> {
  if (identity.flavour === 'confluent' || identity.flavour === 'karapace') {
    const listed = await readByList(client, identity, signal)
    if (listed !== undefined) return listed
  }
  const walk = new SubjectWalk(client, identity, isWanted)
  const found = await untilAgreed(client, async () => ({
    versions: await walk.pass(signal),
    aliases: [],
    warnings: walk.warnings,
  }))
  if (walk.unreadable.length === 0) return found
  const more = walk.unreadable.length > 1 ? ` and ${walk.unreadable.length - 1} more` : ''
  throw new KafkaBackupError(
    'REGISTRY_PROTOCOL',
    `the registry ${client.name} lists ${walk.unreadable[0]}${more}, but does not give it`,
    { help: 'Look at that version in the registry, or leave its subject out once it is known to be broken.' },
  )
}

/** Undefined where the list does not exist, lacks what is needed, or lacks subjects that the registry has. */
async function readByList(
  client: RegistryClient,
  identity: Identity,
  signal: AbortSignal,
): Promise<Inventory | undefined> {
  let next = await listSchemas(client, identity, signal)
  if (next === undefined) return undefined
  const inventory = await untilAgreed(client, async () => {
    const list = next ?? (await listSchemas(client, identity, signal))
    next = undefined
    return { versions: [], aliases: [], ...list, warnings: [] }
  })
  const known = new Set(inventory.versions.map(({ subject }) => subject))
  const subjects = await listSubjects(client, identity, signal)
  return subjects.every(subject => known.has(subject)) ? inventory : undefined
}

async function untilAgreed(client: RegistryClient, pass: () => Promise<Inventory>): Promise<Inventory> {
  let before: string | undefined
  for (let passes = 0; passes < MAX_PASSES; passes++) {
    const found = await pass()
    const versions = [...found.versions].sort(bySubjectAndVersion)
    const print = versions.map(each => JSON.stringify([each.subject, each.version, each.id, each.isDeleted])).join('\n')
    if (print === before) return { ...found, versions }
    before = print
  }
  throw new KafkaBackupError(
    'REGISTRY_CHANGING',
    `the registry ${client.name} changed while it was read, in each of ${MAX_PASSES} passes`,
  )
}

export function bySubjectAndVersion(a: SchemaVersion, b: SchemaVersion): number {
  if (a.subject !== b.subject) return a.subject < b.subject ? -1 : 1
  return a.version - b.version
}
