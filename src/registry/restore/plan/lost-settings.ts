import { type RegistrySettings, type RegistrySnapshot, splitSubject, unset } from '../../../archive/registry-model.ts'
import type { LossKind } from '../../loss-kinds.ts'
import { findRefusal } from './lessons.ts'
import { describeScope } from './messages.ts'
import { asKept, type Closing, takesMode, type Work } from './plan-settings.ts'
import { contextScope, globalScope, type PlannedSettings, subjectScope } from './planned-settings.ts'
import type { RegistryRestoreOptions } from './restore-options.ts'
import { lossNote, type Note, type Scope } from './restore-step.ts'
import { isSame } from './same-schema.ts'

/** Settings of the backup and of the target that the target cannot have. `book` is at its end. */
export function listLostSettings(
  { work, wanted }: { work: Work } & Pick<Closing, 'wanted'>,
  backup: RegistrySnapshot,
  book: PlannedSettings,
  options: RegistryRestoreOptions,
): Note[] {
  const { traits } = options
  const rows = work.subjects.map(subject => ({ subject, settings: work.wanted.get(subject) ?? unset }))
  const registry = `the target registry (${traits.flavour})`
  const describeLoss = (loss: LossKind, subject: string | null, what: string): Note =>
    lossNote(loss, subject, `${registry} does not keep ${what} of ${subject ?? 'the whole registry'}`)
  const contexts = traits.hasContexts ? [] : [...backup.contextSettings.keys()]
  const isNoneLost = !traits.keepsLevelNone && book.present(globalScope).compatibility !== 'NONE'
  const lost = [...rows, { subject: null, settings: backup.global }].flatMap(({ subject, settings }) => [
    ...(isNoneLost && subject !== null && settings.compatibility === 'NONE'
      ? [describeLoss('compatibility', subject, 'the level NONE')]
      : []),
    ...(!takesMode(settings.mode, traits) && settings.mode !== null && settings.mode !== 'READWRITE'
      ? [describeLoss('mode', subject, `the mode ${settings.mode}`)]
      : []),
    ...(traits.needsLevels && subject !== null && settings.compatibility === null && settings.config !== null
      ? [describeLoss('compatibility', subject, 'a configuration without a level')]
      : []),
    ...(!traits.keepsConfigs && settings.config !== null
      ? [describeLoss('config', subject, `the settings ${Object.keys(settings.config).join(', ')}`)]
      : []),
  ])
  const ours = [
    ...rows.map(({ subject, settings }) => ({ scope: subjectScope(subject), settings })),
    ...[...backup.contextSettings].map(([context, settings]) => ({ scope: contextScope(context), settings })),
    { scope: globalScope, settings: backup.global },
  ].map(({ scope, settings }) => ({ scope, settings: asKept(settings, scope, book, options) }))
  const refused = [...ours, ...wanted].flatMap(({ scope, settings }) => listRefused(settings, scope, book, options))
  return [
    ...lost,
    ...new Map(refused.map(note => [note.message, note])).values(),
    ...listMovedContexts(work, backup, book, options),
    ...contexts.map(context =>
      lossNote('context_settings', null, `${registry} does not keep the settings of the context ${context}`),
    ),
  ]
}

/** Contexts whose subjects get another context, which has other settings. */
function listMovedContexts(
  work: Work,
  backup: RegistrySnapshot,
  book: PlannedSettings,
  { subjectMapping, traits }: RegistryRestoreOptions,
): Note[] {
  if (!traits.hasContexts) return []
  const restored = new Set(work.subjects)
  const inForce = ({ compatibility, mode, config }: RegistrySettings) => ({
    ...{ compatibility, config },
    mode: mode ?? 'READWRITE',
  })
  const moved = new Map<string, Note>()
  for (const [source, subject] of subjectMapping) {
    const [from, to] = [splitSubject(source).context, splitSubject(subject).context]
    const settings = backup.contextSettings.get(from)
    if (from === to || !settings || !restored.has(subject)) continue
    if (isSame(inForce(settings), inForce(book.present(contextScope(to))))) continue
    const message = `subjects of the context ${from} are restored to the context ${to}, which does not get its settings`
    moved.set(message, lossNote('context_settings', null, message))
  }
  return [...moved.values()]
}

/** Settings of the backup that the target has refused in this run or in an earlier one. `book` is at its end. */
function listRefused(
  wanted: RegistrySettings,
  scope: Scope,
  book: PlannedSettings,
  { lessons, traits }: RegistryRestoreOptions,
): Note[] {
  const { compatibility, config, mode } = wanted
  const present = book.present(scope)
  const describeLoss = (loss: LossKind, what: string, reason: string): Note => {
    const message = `the target registry (${traits.flavour}) does not keep the ${what} of ${describeScope(scope)}: ${reason}`
    return lossNote(loss, scope.kind === 'subject' ? scope.subject : null, message)
  }
  const refused = {
    config: findRefusal(lessons, scope, { config: { compatibility, config } })?.reason,
    mode: findRefusal(lessons, scope, { mode })?.reason,
  }
  const isConfigKept = present.compatibility === compatibility && isSame(present.config, config)
  const isLevel = config === null
  const what = isLevel ? `level ${compatibility ?? 'that it inherits'}` : `settings ${Object.keys(config).join(', ')}`
  return [
    ...(refused.config === undefined || isConfigKept
      ? []
      : [describeLoss(isLevel ? 'compatibility' : 'config', what, refused.config)]),
    ...(refused.mode === undefined || present.mode === mode
      ? []
      : [describeLoss('mode', `mode ${mode ?? 'that it inherits'}`, refused.mode)]),
  ]
}
