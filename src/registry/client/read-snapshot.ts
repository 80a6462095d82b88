import {
  DEFAULT_CONTEXT,
  type RegistrySnapshot,
  type SchemaVersion,
  splitSubject,
} from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import { formatUtc } from '../../lib/clock.ts'
import { contextPath } from './address.ts'
import type { RegistryClient } from './client.ts'
import { detectFlavour, type Identity } from './flavour.ts'
import { type Inventory, type Needed, readInventory } from './inventory.ts'
import { listNames } from './list-subjects.ts'
import { asRecord } from './parse-answers.ts'
import { type OuterSettings, readOuterSettings, readSubjectSettings } from './read-settings.ts'
import {
  everything,
  isContextSelected,
  isSelected,
  namesContexts,
  type Selection,
  selectVersions,
  withoutSensitive,
} from './select-versions.ts'

/** What is read of a registry: settings of all subjects, where nothing else is said. */
type Reading = Partial<Selection> & {
  isSettingsAsked?: (subject: string) => boolean
  /** Contexts that a restore needs; null stands for those that have no name because they cannot be listed. */
  isContextNeeded?: (context: string | null) => boolean
  /** A reading that was begun before, of all that is selected. */
  holdings?: Promise<Holdings> | undefined
}

/** What a registry holds, without the settings of subjects. */
export interface Holdings {
  takenAt: string
  identity: Identity
  inventory: Inventory
  outer: OuterSettings
}

/**
 * All that is selected of a registry, read until two passes agree. Taken after the end of the data is fixed, it holds the
 * schema of every record: an id is given before the first record carries it. Fails as a whole or not at all.
 */
export async function readSnapshot(
  client: RegistryClient,
  { isSettingsAsked = () => true, isContextNeeded, holdings, ...selection }: Reading,
  signal: AbortSignal,
): Promise<RegistrySnapshot> {
  const wanted = { ...everything, ...selection }
  const needed = { isWanted: isSelected(wanted), isBackup: isContextNeeded === undefined }
  const held = await (holdings ?? readHoldings(client, signal, needed))
  refuseHidden(client, held, isContextNeeded ? needsOfRestore(isContextNeeded) : needsOfBackup(wanted))
  const { takenAt, identity, inventory, outer } = held
  const selected = selectVersions(inventory.versions, wanted)
  const cleared = selected.versions.map(withoutSensitive)
  const versions = cleared.map(({ version }) => version)
  const aliases = inventory.aliases.filter(isSelected(wanted))
  const subjects = [...new Set([...versions.map(({ subject }) => subject), ...aliases])]
  const asked = { subjects: subjects.filter(isSettingsAsked), global: outer.global }
  const [settings, maxIds] = await Promise.all([
    readSubjectSettings(client, identity, asked, signal),
    readMaxIds(client, identity, inventory.versions, signal),
  ])
  return {
    flavour: identity.flavour,
    registryVersion: identity.version,
    takenAt,
    contexts: identity.contexts,
    versions,
    subjects: settings.subjects,
    contextSettings: outer.contextSettings,
    global: outer.global,
    maxIds: maxIds.maxIds,
    skippedDeleted: selected.skippedDeleted,
    ...(selected.leftOut.length > 0 && { leftOut: selected.leftOut }),
    warnings: [
      ...(identity.warnings ?? []),
      ...inventory.warnings,
      ...selected.warnings,
      ...cleared.flatMap(({ warning }) => warning ?? []),
      ...new Set([...outer.warnings, ...settings.warnings, ...maxIds.warnings]),
    ],
  }
}

/** Everything, unless a part is wanted. */
export async function readHoldings(
  client: RegistryClient,
  signal: AbortSignal,
  needed: Needed = { isWanted: () => true },
): Promise<Holdings> {
  const takenAt = formatUtc(client.clock.now())
  const identity = await detectFlavour(client, signal)
  const [inventory, outer] = await Promise.all([
    readInventory(client, identity, needed, signal),
    readOuterSettings(client, identity, signal),
  ])
  return { takenAt, identity, inventory, outer }
}

/** Which registry it is. Fails where it hides contexts that a backup of the selection needs. */
export async function identifySource(
  client: RegistryClient,
  selection: Partial<Selection>,
  signal: AbortSignal,
): Promise<Identity> {
  const identity = await detectFlavour(client, signal)
  const { hidden } = identity.unlisted ? await listNames(client, identity, true, signal) : { hidden: [] }
  refuseHidden(
    client,
    { identity, inventory: { hidden }, outer: { hidden: [] } },
    needsOfBackup({ ...everything, ...selection }),
  )
  return identity
}

interface ContextNeeds {
  isNeeded: (context: string | null) => boolean
  /** Contexts other than the default one are needed, whether or not the registry is known to have them. */
  areNamed: boolean
  /** How to leave out the subjects that match. */
  helpWithout: (pattern: string) => string
}

function needsOfBackup(wanted: Selection): ContextNeeds {
  return {
    isNeeded: isContextSelected(wanted),
    areNamed: namesContexts(wanted),
    helpWithout: pattern =>
      ` To back up without it, add '${pattern}' to \`enterprise.schema_registry.backup.exclude\`.`,
  }
}

function needsOfRestore(isNeeded: ContextNeeds['isNeeded']): ContextNeeds {
  return { isNeeded, areNamed: isNeeded(null), helpWithout: () => '' }
}

interface Hiding {
  identity: Identity
  inventory: Pick<Inventory, 'hidden'>
  outer: Pick<OuterSettings, 'hidden'>
}

/** Schemas of a context that the registry does not show would be missing. */
function refuseHidden(
  { name }: RegistryClient,
  { identity, inventory, outer }: Hiding,
  { isNeeded, areNamed, helpWithout }: ContextNeeds,
): void {
  const unlisted = identity.unlisted && areNamed ? [{ context: null, error: identity.unlisted }] : []
  const hidden = [...unlisted, ...(identity.hidden ?? []), ...inventory.hidden, ...outer.hidden]
  const found = hidden.find(({ context }) => isNeeded(context))
  if (found === undefined) return
  const { context, error } = found
  const what = context === null ? 'which contexts it has' : `what is in the context ${context}, which it has`
  const pattern = `:${context ?? '.'}${context === null ? '' : ':'}*`
  throw new KafkaBackupError(error.code, `the registry ${name} does not show ${what}: ${error.message}`, {
    cause: error,
    help: `Allow the user of the job to read it.${helpWithout(pattern)}`,
  })
}

/** Asked along with a schema, any of the context. The highest may be one that no version has any more. */
async function readMaxIds(
  client: RegistryClient,
  identity: Identity,
  versions: readonly SchemaVersion[],
  signal: AbortSignal,
): Promise<{ maxIds: Map<string, number>; warnings: string[] }> {
  const anyId = new Map(versions.map(({ subject, id }) => [splitSubject(subject).context, id]))
  const maxIds = new Map<string, number>()
  const warnings: string[] = []
  for (const [context, id] of anyId) {
    const isDefault = context === DEFAULT_CONTEXT
    const below = identity.flavour === 'axonops' ? contextPath(identity, context) : ''
    const query = { fetchMaxId: true, ...(!isDefault && below === '' && { subject: `:${context}:` }) }
    const answer = await client.probe({ path: `${below}/schemas/ids/${id}`, query }, signal, ({ message }) => {
      warnings.push(`the highest schema ID of the context ${context} cannot be read: ${message}; ${GIVEN_AGAIN}`)
    })
    const { maxId } = asRecord(answer) ?? {}
    if (typeof maxId === 'number') maxIds.set(context, maxId)
  }
  return { maxIds, warnings }
}

const GIVEN_AGAIN =
  'where schemas were removed for good, a registry that is restored with force_ids may give their IDs to others'
