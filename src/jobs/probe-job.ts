import { KafkaBackupError } from '../errors.ts'
import type { ProbeOptions, RegistryProbe } from '../registry/probe/probe-registry.ts'
import type { SchemaSide } from './schema-sides.ts'

/** What a registry can do. Unless it is writing, nothing is changed there. */
export async function probeRegistryJob(
  side: SchemaSide,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<RegistryProbe> {
  if (side.kind !== 'registry') throw new KafkaBackupError('USAGE', 'a backup cannot be probed, only a registry')
  const [{ openRegistryClient }, { probeRegistry }] = await Promise.all([
    import('../registry/client/client.ts'),
    import('../registry/probe/probe-registry.ts'),
  ])
  const client = await openRegistryClient(side.options)
  try {
    return await probeRegistry(client, options, signal)
  } finally {
    client.close()
  }
}
