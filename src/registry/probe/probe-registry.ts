import type { RegistryFlavour } from '../../archive/registry-model.ts'
import type { RegistryClient } from '../client/client.ts'
import { detectFlavour } from '../client/flavour.ts'
import { asList } from '../client/json-shape.ts'
import type { FeatureCheck, FeatureResult } from './feature-check.ts'
import { ProbeScope } from './probe-scope.ts'
import { readChecks } from './read-checks.ts'
import { schemaChecks } from './schema-checks.ts'
import { settingsChecks } from './settings-checks.ts'

export interface ProbeOptions {
  /** Also what has to be written to be seen. */
  isWriting: boolean
  /** Called before the first write, with where it writes. */
  onWrite(place: string): void
  /** Called with the subjects that may still be there where the probe itself fails. */
  onLeftBehind(subjects: readonly string[]): void
}

export interface RegistryProbe {
  registry: string
  flavour: RegistryFlavour
  version: string | null
  features: readonly FeatureResult[]
  /** Schemas that were registered: each may have used up an ID for good. */
  registrations: number
  /** Subjects of the probe that could not be removed. */
  leftBehind: string[]
}

/** Every feature that is looked for, in the order in which it is shown. */
export const featureChecks: readonly FeatureCheck[] = [...readChecks, ...schemaChecks, ...settingsChecks]

/** Finds out what a registry can do that restores rely on. What it writes is in a corner of its own, and is removed. */
export async function probeRegistry(
  client: RegistryClient,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<RegistryProbe> {
  const identity = await detectFlavour(client, signal)
  const listed = asList(await client.probe({ path: '/contexts' }, signal))
  // Apicurio lists one that it does not have.
  const hasContexts = listed !== undefined && listed[0] !== ':.:'
  const name = `kafka-backup-probe-${client.clock.now().toString(36)}`
  const scope = new ProbeScope(client, { identity, hasContexts, name }, signal)
  const features = options.isWriting ? await probeByWriting(scope, options) : await runChecks(scope, false)
  const leftBehind = options.isWriting ? await scope.clear() : []
  const { flavour, version } = identity
  return { registry: client.name, flavour, version, features, registrations: scope.registrations, leftBehind }
}

async function probeByWriting(
  scope: ProbeScope,
  { onWrite, onLeftBehind }: ProbeOptions,
): Promise<readonly FeatureResult[]> {
  onWrite(scope.place)
  try {
    await scope.registerFirst()
    return await runChecks(scope, true)
  } catch (error) {
    const leftBehind = await scope.clear()
    if (leftBehind.length > 0) onLeftBehind(leftBehind)
    throw error
  }
}

/** Writes come first, because what was written can be read. */
async function runChecks(scope: ProbeScope, isWriting: boolean): Promise<FeatureResult[]> {
  const results = new Map<FeatureCheck, FeatureResult>()
  const inOrder = featureChecks.toSorted((a, b) => Number(b.isWrite) - Number(a.isWrite))
  for (const check of inOrder) results.set(check, await runCheck(check, scope, isWriting))
  return featureChecks.flatMap(check => results.get(check) ?? [])
}

async function runCheck(check: FeatureCheck, scope: ProbeScope, isWriting: boolean): Promise<FeatureResult> {
  const { name, label, isWrite, without } = check
  if (isWrite && !isWriting) return { name, label, has: null, detail: 'not tried; use --write' }
  const verdict = await check.run(scope)
  if (verdict === undefined)
    return {
      name,
      label,
      has: null,
      detail: isWrite ? 'needs a feature that is missing' : 'cannot be seen on this registry now',
    }
  return { name, label, has: verdict.has, detail: verdict.detail ?? (verdict.has ? '' : without) }
}
