import { DEFAULT_CONTEXT, type RegistryFlavour, type RegistrySnapshot } from '../../archive/registry-model.ts'
import { hasCode, KafkaBackupError } from '../../errors.ts'
import { apicurioNative } from './apicurio.ts'
import { noBody, type RegistryClient } from './client.ts'
import { asList, asRecord } from './parse-answers.ts'
import { RegistryError } from './registry-error.ts'

/** Vendor and version of a registry, as far as its answers show them. */
export interface Identity {
  flavour: RegistryFlavour
  version: string | null
  /** The default one first. A registry without contexts has that one. */
  contexts: readonly string[]
  /** What access rules hide. */
  warnings?: readonly string[]
  /** Contexts that cannot be listed, where no other list shows what is in them. */
  hidden?: readonly HiddenContext[]
  /** Why contexts cannot be listed, where the registry may have none. */
  unlisted?: KafkaBackupError
}

/** What the registry keeps back of a context. */
export interface HiddenContext {
  /** Null for all but the default one, whose names are not known. */
  context: string | null
  error: KafkaBackupError
}

/** The answer of a registry, or of a proxy, that keeps something back. */
export function isHiding(error: unknown): error is KafkaBackupError {
  return hasCode(error, 'REGISTRY_AUTH', 'REGISTRY_NOT_FOUND', 'REGISTRY_REFUSED', 'REGISTRY_PROTOCOL')
}

/** As a reading of the registry has found it. */
export function identityOf({
  flavour,
  registryVersion,
  contexts,
}: Pick<RegistrySnapshot, 'flavour' | 'registryVersion' | 'contexts'>): Identity {
  return { flavour, version: registryVersion, contexts }
}

/**
 * Requests what one vendor has and the others do not. A registry that matches none is `other`, and nothing is assumed about it.
 * The list of subjects comes first: it is there in every registry, so a wrong address or login is found by it.
 */
export async function detectFlavour(client: RegistryClient, signal: AbortSignal): Promise<Identity> {
  let failure: KafkaBackupError | undefined
  const identity = await detect(client, signal, error => {
    failure = error
  })
  if (!failure || !hasHiddenContexts(identity, failure)) return identity
  const isAxonOps = identity.flavour === 'axonops'
  // A version of AxonOps without contexts answers so, and of an unknown registry it is not known whether it has any.
  if (identity.flavour === 'other' || (isAxonOps && failure.code === 'REGISTRY_NOT_FOUND')) {
    const warning = `contexts cannot be listed, so those other than the default one are left out, if there are any: ${failure.message}`
    return { ...identity, unlisted: failure, warnings: [warning] }
  }
  // Only from that list does AxonOps show what is in other contexts than the default one.
  if (isAxonOps) return { ...identity, hidden: [{ context: null, error: failure }] }
  const warning = `contexts cannot be listed, so their levels and modes are left out: ${failure.message}`
  return { ...identity, warnings: [warning] }
}

/** A registry without contexts does not know the list of them; one that has them always answers with it. */
function hasHiddenContexts({ flavour, version }: Identity, { code }: KafkaBackupError): boolean {
  if (code === 'REGISTRY_AUTH') return true
  if (flavour === 'axonops') return true
  return flavour === 'confluent' && Number.parseInt(version ?? '', 10) >= 7
}

/** `onFailure` is called with what keeps the list of contexts back. */
async function detect(
  client: RegistryClient,
  signal: AbortSignal,
  onFailure: (error: KafkaBackupError) => void,
): Promise<Identity> {
  if (asList(await client.call({ path: '/subjects', query: { limit: 1 } }, signal)) === undefined) {
    throw new KafkaBackupError('REGISTRY_PROTOCOL', `${client.name} does not answer with a list of subjects`)
  }
  const [listed, versionAnswer] = await Promise.all([
    listContexts(client, signal, onFailure),
    client.probe({ path: '/v1/metadata/version' }, signal),
  ])
  const contexts = parseContexts(listed)
  const identity = (flavour: RegistryFlavour, version: string | null) => ({ flavour, version, contexts })

  const reported = asRecord(versionAnswer)
  if (typeof reported?.commitId === 'string') return identity('confluent', asText(reported.version))
  if (reported !== undefined && ('commit' in reported || 'build_time' in reported))
    return identity('axonops', asText(reported.version))

  const native = await probeApicurio(client, signal)
  if (native !== undefined) return identity('apicurio', native)
  if (listed[0] === ':.:') return identity('apicurio', null)

  const health = asRecord(await client.probe({ path: '/_health' }, signal))
  const status = asRecord(health?.status)
  const karapace = asText(health?.karapace_version ?? status?.karapace_version)
  const isReady = health?.schema_registry_ready ?? status?.schema_registry_ready
  if (isReady !== undefined || karapace !== null) return identity('karapace', karapace)

  const cluster = asRecord(await client.probe({ path: '/v1/metadata/id' }, signal))
  if (asRecord(cluster?.scope) !== undefined) return identity('confluent', asText(reported?.version))
  if (reported !== undefined && typeof cluster?.id === 'string') return identity('axonops', asText(reported.version))
  if (await isRedpanda(client, signal)) return identity('redpanda', null)
  return identity((await isHostedConfluent(client, signal)) ? 'confluent' : 'other', asText(reported?.version))
}

async function listContexts(
  client: RegistryClient,
  signal: AbortSignal,
  onFailure: (error: KafkaBackupError) => void,
): Promise<readonly unknown[]> {
  try {
    const listed = asList(await client.call({ path: '/contexts' }, signal))
    if (listed !== undefined) return listed
    onFailure(new KafkaBackupError('REGISTRY_PROTOCOL', `${client.name} does not answer /contexts with a list`))
  } catch (error) {
    if (!(error instanceof RegistryError) || error.retryable) throw error
    onFailure(error)
  }
  return []
}

async function probeApicurio(client: RegistryClient, signal: AbortSignal): Promise<string | undefined> {
  for (const version of ['v3', 'v2'] as const) {
    const call = { path: '/system/info', basePath: apicurioNative(version) }
    const info = asRecord(await client.probe(call, signal))
    if (typeof info?.name === 'string' && /apicurio/i.test(info.name)) return asText(info.version) ?? ''
  }
  return undefined
}

/** Its readiness has no body. */
async function isRedpanda(client: RegistryClient, signal: AbortSignal): Promise<boolean> {
  return (await client.probe({ path: '/status/ready' }, signal)) === noBody
}

/** Confluent Cloud reports no version; only its schemas have a guid. */
async function isHostedConfluent(client: RegistryClient, signal: AbortSignal): Promise<boolean> {
  const rows = await client.probe({ path: '/schemas', query: { limit: 1, deleted: true } }, signal)
  return typeof asRecord(asList(rows)?.[0])?.guid === 'string'
}

/** `.`, `.a` or, as Apicurio writes them, `:.:`. */
function parseContexts(listed: readonly unknown[]): string[] {
  const names = listed.filter(name => typeof name === 'string')
  const plain = names.map(name => name.replace(/^:(.*):$/s, '$1')).filter(name => name.startsWith('.'))
  return [DEFAULT_CONTEXT, ...new Set(plain.filter(name => name !== DEFAULT_CONTEXT))]
}

function asText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
