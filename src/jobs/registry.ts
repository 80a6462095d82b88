import type { RegistrySnapshot } from '../archive/registry-model.ts'
import type { Job } from '../config/load-job.ts'
import { attempt, type Check } from '../observe/finding.ts'
import type { RegistryClient } from '../registry/client/client.ts'
import type { RegistryOptions } from '../registry/client/client-options.ts'
import type { Identity } from '../registry/client/flavour.ts'
import type { Selection } from '../registry/client/select-versions.ts'
import type { SchemaOptions } from '../registry/restore/survey-target.ts'

export type RegistryJob = NonNullable<NonNullable<Job['enterprise']>['schemaRegistry']>

/** The registry of a job that has turned it on. */
export function registryOf({ enterprise }: Pick<Job, 'enterprise'>): RegistryJob | undefined {
  return enterprise?.schemaRegistry?.enabled ? enterprise.schemaRegistry : undefined
}

export async function withRegistry<T>(registry: RegistryJob, work: (client: RegistryClient) => Promise<T>): Promise<T> {
  const { openRegistryClient } = await import('../registry/client/client.ts')
  const client = await openRegistryClient(registryOptions(registry))
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

/** A reading of the registry that a job backs up, as often as it is asked for one; undefined where there is none. */
export async function withRegistryReader<T>(
  job: Pick<Job, 'enterprise'>,
  work: (read: ((signal: AbortSignal) => Promise<RegistrySnapshot>) | undefined) => Promise<T>,
): Promise<T> {
  const registry = registryOf(job)
  if (!registry) return work(undefined)
  return withRegistry(registry, async client => {
    const { readSnapshot } = await import('../registry/client/read-snapshot.ts')
    return work(signal => readSnapshot(client, selectionOf(registry), signal))
  })
}

export function registryOptions({ urls, auth, tls, connection }: RegistryJob): RegistryOptions {
  const files = tls ?? auth?.tls
  return {
    urls: urls ?? [],
    ...(auth && { auth }),
    ...(files && { tls: files }),
    ...connection,
  }
}

export function selectionOf({ backup, schemaTypes, protobuf }: RegistryJob): Partial<Selection> {
  return { ...backup, schemaTypes, includeProtobufDependencies: protobuf.includeDependencies }
}

/** What the job wants of the schemas of a backup. */
export async function schemaOptions({ restore, schemaTypes }: RegistryJob): Promise<SchemaOptions> {
  const { enabled, strategy, forceIds, subjectMapping, setCompatibility, forceRegister, idMappingFile, acceptLoss } =
    restore
  const { idMapping, unknownIds } = restore
  const { readIdMapping } = await import('../registry/restore/id-map-of.ts')
  return {
    strategy: enabled ? strategy : 'lookup',
    forceIds,
    subjectMapping,
    setCompatibility,
    forceRegister,
    schemaTypes,
    filter: { subjects: restore.subjects, exclude: restore.exclude },
    acceptLoss,
    passesUnknownIds: !idMapping || unknownIds === 'pass',
    idOverrides: idMappingFile === undefined ? new Map() : await readIdMapping(idMappingFile),
  }
}

/**
 * Whether the registry of a job returns its subjects with this login, and to a backup its contexts; undefined without a registry. Which
 * contexts a restore needs is found by its plan.
 */
export async function checkRegistry(job: Pick<Job, 'enterprise' | 'mode'>, signal: AbortSignal): Promise<Check[]> {
  const registry = registryOf(job)
  if (!registry) return []
  return withRegistry(registry, async client => {
    const check = await attempt(`schema registry ${client.name}`, 'read', signal, async () => {
      const { flavour, version } = await identify(client, job.mode === 'restore' ? undefined : registry, signal)
      return `${flavour}${version === null ? '' : ` ${version}`} answers`
    })
    return [check]
  })
}

async function identify(
  client: RegistryClient,
  source: RegistryJob | undefined,
  signal: AbortSignal,
): Promise<Identity> {
  if (!source) return (await import('../registry/client/flavour.ts')).detectFlavour(client, signal)
  const { identifySource } = await import('../registry/client/read-snapshot.ts')
  return identifySource(client, selectionOf(source), signal)
}
