import type { RegistryClient } from '../registry/client/client.ts'
import { identityOf } from '../registry/client/flavour.ts'
import { readSettings } from '../registry/client/read-settings.ts'
import { readSnapshot } from '../registry/client/read-snapshot.ts'
import { DEFAULT_CONTEXT, type RegistrySettings, type RegistrySnapshot, splitSubject } from '../registry/model.ts'
import type { RestoreJournal } from '../registry/plan/restore-step.ts'
import { traitsOf } from '../registry/plan/target-traits.ts'
import { heldReferences } from '../registry/write/sent-references.ts'

/**
 * What a registry holds, with the settings of what a restore is about to make there: a registry does not list subjects and
 * contexts without versions, though they may have a level or a mode, of somebody's making or of a run that died.
 */
export async function readTarget(
  client: RegistryClient,
  backup: RegistrySnapshot,
  subjectMapping: ReadonlyMap<string, string>,
  unfinished: RestoreJournal | undefined,
  signal: AbortSignal,
): Promise<RegistrySnapshot> {
  const read = await readSnapshot(client, {}, signal)
  const traits = traitsOf(read.flavour, read.registryVersion)
  const target = { ...read, versions: read.versions.map(one => heldReferences(one, traits)) }
  if (!traits.hasEarlyLevels) return target
  const wanted = [...backup.subjects.keys()].map(subject => subjectMapping.get(subject) ?? subject)
  const journaled = unfinished?.settings.flatMap(({ scope }) => (scope.kind === 'subject' ? [scope.subject] : [])) ?? []
  const named = new Set([...wanted, ...journaled, ...(unfinished?.createdSubjects ?? [])])
  const subjects = [...named].filter(subject => !target.subjects.has(subject))
  const contexts = [...new Set([...subjects.map(subject => splitSubject(subject).context), ...backup.contexts])]
  const unlisted = contexts.filter(context => !target.contexts.includes(context))
  if (subjects.length === 0 && unlisted.length === 0) return target
  const identity = { ...identityOf(target), contexts: [DEFAULT_CONTEXT, ...unlisted] }
  const found = await readSettings(client, identity, subjects, signal)
  return {
    ...target,
    subjects: new Map([...target.subjects, ...[...found.subjects].filter(([, settings]) => isSet(settings))]),
    contextSettings: new Map([...target.contextSettings, ...found.contextSettings]),
  }
}

function isSet({ compatibility, mode, config }: RegistrySettings): boolean {
  return compatibility !== null || mode !== null || config !== null
}
