import { DEFAULT_CONTEXT, type RegistrySettings, type RegistrySnapshot, splitSubject } from './registry-model.ts'

/** Where the level of a subject is set. `default`: nowhere, so that it is the one that the registry was started with. */
export const levelSources = ['subject', 'context', 'global', 'default'] as const
export type LevelSource = (typeof levelSources)[number]

/** The name under which Confluent keeps settings of all contexts. */
const EVERY_CONTEXT = '.__GLOBAL'

/**
 * Pure. The compatibility level that the registry applies to a subject: its own, that of its context, or that of the whole
 * registry, which is the one of the default context. Null where none of them is set, because registries do not report
 * the default that they were started with.
 */
export function levelInForce(
  { subjects, contextSettings, global }: Pick<RegistrySnapshot, 'subjects' | 'contextSettings' | 'global'>,
  subject: string,
): { level: string | null; source: LevelSource } {
  const { context } = splitSubject(subject)
  const scopes: { source: LevelSource; settings: RegistrySettings | undefined }[] = [
    { source: 'subject', settings: subjects.get(subject) },
    context === DEFAULT_CONTEXT
      ? { source: 'global', settings: global }
      : { source: 'context', settings: contextSettings.get(context) },
    { source: 'global', settings: contextSettings.get(EVERY_CONTEXT) },
  ]
  for (const { source, settings } of scopes) {
    const level = settings?.compatibility ?? null
    if (level !== null) return { level, source }
  }
  return { level: null, source: 'default' }
}
