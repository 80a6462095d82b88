import type { SchemaVersion } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import type { RegistryClient } from './client.ts'
import type { Identity } from './flavour.ts'
import { listSchemas } from './list-schemas.ts'
import { listSubjects, SubjectWalk, type Unreadable } from './walk-subjects.ts'

/** Versions of a registry, soft-deleted ones too, by subject and version. */
export interface Inventory {
  versions: readonly SchemaVersion[]
  /** Subjects that have settings and no versions, as far as the registry tells. */
  aliases: readonly string[]
  warnings: readonly string[]
}

type Pass = Inventory & { unreadable?: readonly Unreadable[] }

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
  const found = await untilAgreed(client, async () => {
    const versions = await walk.pass(signal)
    return { versions, aliases: [], warnings: walk.warnings, unreadable: walk.unreadable }
  })
  refuseUnreadable(client, identity, walk.unreadable)
  return found
}

/** A live subject that cannot be read is never left out of a backup. */
function refuseUnreadable({ name }: RegistryClient, { flavour }: Identity, unreadable: readonly Unreadable[]): void {
  const slashed = flavour === 'axonops' ? unreadable.find(({ subject }) => subject.includes('/')) : undefined
  const first = slashed ?? unreadable[0]
  if (first === undefined) return
  const whole = `subject ${JSON.stringify(first.subject)}`
  const what = first.version === null ? whole : `version ${first.version} of ${whole}`
  const more = unreadable.length > 1 ? ` and ${unreadable.length - 1} more` : ''
  const why = slashed
    ? 'cannot be asked for it: AxonOps finds no subject with a slash in its name, however the request is encoded'
    : 'does not give it'
  throw new KafkaBackupError('REGISTRY_PROTOCOL', `the registry ${name} lists ${what}${more}, but ${why}`, {
    help: slashed
      ? 'Register the schema under a name without a slash, or leave the subject out with `enterprise.schema_registry.backup.exclude`.'
      : 'Check the subject in the registry. If it is broken there, leave it out with `enterprise.schema_registry.backup.exclude`.',
  })
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

async function untilAgreed(client: RegistryClient, pass: () => Promise<Pass>): Promise<Inventory> {
  let before: string | undefined
  for (let passes = 0; passes < MAX_PASSES; passes++) {
    const found = await pass()
    const versions = [...found.versions].sort(bySubjectAndVersion)
    const rows = versions.map(each => [each.subject, each.version, each.id, each.isDeleted])
    const print = [...rows, ...(found.unreadable ?? [])].map(row => JSON.stringify(row)).join('\n')
    if (print === before) return { versions, aliases: found.aliases, warnings: found.warnings }
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
