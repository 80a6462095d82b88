import type { RegistrySettings, RegistrySnapshot } from '../../archive/registry-model.ts'
import { runPool } from '../../lib/pool.ts'
import type { RestoreJournal, RestoreStep, Scope } from './plan/restore-step.ts'
import { isSame } from './plan/same-schema.ts'
import { settingsOf } from './plan/settings-book.ts'
import { FILLER_NAME } from './plan/target-index.ts'
import type { RegistryWriter } from './write/requests.ts'

/** Settings that a run that did not end has changed for the time, and what they were. */
export interface Unsettled {
  scope: Scope
  original: RegistrySettings
  config: boolean
  mode: boolean
}

export type SettingPart = 'config' | 'mode'

/** The part of the settings that a step changes; undefined for other steps. */
export function partOf(step: RestoreStep): { scope: Scope; part: SettingPart } | undefined {
  switch (step.type) {
    case 'set-config':
    case 'delete-config':
      return { scope: step.scope, part: 'config' }
    case 'set-mode':
    case 'delete-mode':
      return { scope: step.scope, part: 'mode' }
    default:
      return undefined
  }
}

export function partKey(scope: Scope, part: SettingPart): string {
  return `${part} ${JSON.stringify(scope)}`
}

/**
 * Pure. What is to be put back: `begun` are the parts that this run has changed, `pending` those that its plan would have
 * brought to their last value. `before` shows what an earlier run has left.
 */
export function listUnsettled(
  { settings }: RestoreJournal,
  before: RegistrySnapshot,
  begun: ReadonlySet<string>,
  pending: ReadonlySet<string>,
): Unsettled[] {
  return settings.flatMap(({ scope, ...original }) => {
    const found = settingsOf(before, scope)
    const isOpen = (part: SettingPart, isChanged: boolean) =>
      pending.has(partKey(scope, part)) && (isChanged || begun.has(partKey(scope, part)))
    const configOf = ({ compatibility, config }: RegistrySettings) => ({ compatibility, config })
    const config = isOpen('config', !isSame(configOf(found), configOf(original)))
    const mode = isOpen('mode', found.mode !== original.mode)
    return config || mode ? [{ scope, original, config, mode }] : []
  })
}

/** Puts settings back as they were. Answers with those that could not be, after the first that fails. */
export async function settle(
  unsettled: readonly Unsettled[],
  writer: RegistryWriter,
  width: number,
  signal: AbortSignal,
): Promise<Unsettled[]> {
  const left = new Set(unsettled)
  await runPool(unsettled, width, async one => {
    const { scope, original, config, mode } = one
    if (config && original.compatibility === null && original.config === null) await writer.deleteConfig(scope, signal)
    else if (config) await writer.setConfig(scope, { ...original, clears: true }, signal)
    if (mode && original.mode === null && scope.kind !== 'global') await writer.deleteMode(scope, signal)
    else if (mode) await writer.setMode(scope, original.mode ?? 'READWRITE', true, signal)
    left.delete(one)
  }).catch(() => undefined)
  return [...left]
}

/** Removes what took numbers for the time, and nothing that is not such a filler. Answers with those that could not be. */
export async function removeFillers(
  fillers: readonly { subject: string; version: number }[],
  writer: RegistryWriter,
  width: number,
  signal: AbortSignal,
): Promise<{ subject: string; version: number }[]> {
  const left = new Set(fillers)
  await runPool(fillers, width, async one => {
    const held = await writer.read(one.subject, one.version, signal)
    if (String(held?.schema).includes(FILLER_NAME)) {
      await writer.deleteVersion(one.subject, one.version, true, signal)
    }
    left.delete(one)
  }).catch(() => undefined)
  return [...left]
}
