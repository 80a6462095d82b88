import type { TestContext } from 'node:test'
import type { RegistrySnapshot, SchemaVersion } from '../../../src/archive/registry-model.ts'
import { openRegistryClient } from '../../../src/registry/client/client.ts'
import { readSnapshot } from '../../../src/registry/client/read-snapshot.ts'
import {
  type FakeRegistry,
  type FakeRegistryOptions,
  startFakeRegistry,
  type Vendor,
} from '../../fakes/fake-registry.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'

export const never = new AbortController().signal

/** A snapshot of a registry of that vendor which holds what the options say. */
export async function snapshotOf(
  t: TestContext,
  vendor: Vendor,
  options: FakeRegistryOptions,
  selection: Parameters<typeof readSnapshot>[1] = {},
): Promise<{ snapshot: RegistrySnapshot; registry: FakeRegistry }> {
  const registry = await startFakeRegistry(vendor, options)
  t.after(() => registry.close())
  const client = await openRegistryClient({ urls: [registry.url] }, { clock: new JumpingClock() })
  t.after(() => client.close())
  return { snapshot: await readSnapshot(client, selection, never), registry }
}

/** `subject@version#id`, with a minus where it is deleted and a plus where it was pulled in. */
export function brief(versions: readonly SchemaVersion[]): string[] {
  return versions.map(
    ({ subject, version, id, isDeleted, isPulledIn }) =>
      `${subject}@${version}#${id}${isDeleted ? '-' : ''}${isPulledIn ? '+' : ''}`,
  )
}
