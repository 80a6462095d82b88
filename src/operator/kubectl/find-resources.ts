import { hasCode, KafkaBackupError, toKafkaBackupError, usageError } from '../../errors.ts'
import { type AnyController, allControllers, controllers, type Resource, resourceKinds } from '../crd/resource.ts'
import type { KubeApi } from '../kube/kube-api.ts'

export interface FoundResource {
  controller: AnyController
  resource: Resource
}

export interface SearchScope {
  apiGroup: string
  /** All namespaces where it is not given. */
  namespace: string | undefined
  /** The kinds that are meant: all of them, or those that run something. */
  kinds: readonly AnyController[]
  /** Storages are left out where the user may not read them, or their kind is not installed; a storage that is named is not. */
  onLeftOut?: (reason: string) => void
}

/** A resource as the command line names it: `orders`, `backup/orders`, `kafkabackups/orders`. */
interface Wanted {
  text: string
  name: string
  /** Undefined for any. */
  controller: AnyController | undefined
}

/** The named resources in the order of their names, or all of them. Every name has to exist, and in one kind only. */
export async function findResources(
  api: KubeApi,
  scope: SearchScope,
  names: readonly string[],
  signal: AbortSignal,
): Promise<FoundResource[]> {
  const wanted = names.map(text => parseWanted(text, scope))
  const isNamed = (one: AnyController) => wanted.some(({ controller }) => controller === one)
  const isAny = wanted.length === 0 || wanted.some(({ controller }) => controller === undefined)
  const asked = isAny ? scope.kinds : scope.kinds.filter(isNamed)
  let unread: string | undefined
  const list = async (one: AnyController) => {
    try {
      return await listKind(api, scope, one, signal)
    } catch (error) {
      const isUnreadable = hasCode(error, 'KUBE_NOT_FOUND') || hasCode(error, 'KUBE_DENIED')
      if (one !== 'storage' || isNamed(one) || !isUnreadable) throw error
      unread = toKafkaBackupError(error).message
      scope.onLeftOut?.(unread)
      return []
    }
  }
  const all = (await Promise.all(asked.map(list))).flat()
  return wanted.length === 0 ? all : wanted.flatMap(one => pick(one, all, scope, unread))
}

/** The one resource that the command is about. */
export async function findResource(
  api: KubeApi,
  scope: SearchScope,
  names: readonly string[],
  signal: AbortSignal,
): Promise<FoundResource> {
  const [name, ...more] = names
  if (name === undefined || more.length > 0) {
    throw usageError('name one resource, such as backup/orders; `kubectl kafka-backup status` lists them')
  }
  const [found] = await findResources(api, scope, [name], signal)
  if (found === undefined) throw notFound(name, scope)
  return found
}

async function listKind(
  api: KubeApi,
  { apiGroup, namespace }: SearchScope,
  controller: AnyController,
  signal: AbortSignal,
): Promise<FoundResource[]> {
  const kind = resourceKinds(apiGroup)[controller]
  const { items } = await api.list(kind, namespace === undefined ? {} : { namespace }, signal)
  return items.map(resource => ({ controller, resource }))
}

/** As kubectl takes the types: singular, plural, with the API group; and without `kafka`. */
function parseWanted(text: string, { apiGroup, kinds: meant }: SearchScope): Wanted {
  const [type, name, ...more] = text.split('/')
  if (name === undefined && type) return { text, name: type, controller: undefined }
  const kinds = resourceKinds(apiGroup)
  const word = (type ?? '').toLowerCase().replace(`.${apiGroup}`, '')
  const controller = allControllers.find(one => {
    const { kind, plural } = kinds[one]
    const singular = kind.toLowerCase()
    const short = [singular.slice('kafka'.length), plural.slice('kafka'.length)]
    return [singular, plural, ...short, ...(one === 'storage' ? ['storage', 'storages'] : [])].includes(word)
  })
  if (controller !== undefined && !meant.includes(controller)) {
    throw usageError(
      `${text}: a KafkaBackupStorage has no runs. See it with \`kubectl kafka-backup describe ${text}\`.`,
    )
  }
  if (controller !== undefined && name && more.length === 0) return { text, name, controller }
  const types = [...controllers.map(one => kinds[one].kind.toLowerCase().slice('kafka'.length)), 'storage']
  throw usageError(
    `${JSON.stringify(text)} is not a resource: use NAME or TYPE/NAME with a type of ${types.join(', ')}`,
  )
}

/** `unread`: why storages, one of which may have the name, are not among all. */
function pick(
  { text, name, controller }: Wanted,
  all: readonly FoundResource[],
  scope: SearchScope,
  unread: string | undefined,
): FoundResource[] {
  const found = all.filter(
    one => one.resource.metadata.name === name && (controller === undefined || one.controller === controller),
  )
  if (found.length === 0) throw notFound(text, scope, controller === undefined ? unread : undefined)
  const kinds = new Set(found.map(one => one.controller))
  if (kinds.size === 1) return found
  const choices = found.map(one => `${one.resource.kind?.toLowerCase()}/${name}`)
  throw usageError(`${text} is the name of several resources: use ${choices.join(' or ')}`)
}

function notFound(text: string, { namespace }: SearchScope, unread?: string): KafkaBackupError {
  const place = namespace === undefined ? 'any namespace' : `namespace "${namespace}"`
  const except = unread === undefined ? '' : `; KafkaBackupStorage resources cannot be read: ${unread}`
  return new KafkaBackupError('KUBE_NOT_FOUND', `there is no resource ${text} in ${place}${except}`, {
    help: 'List the resources with `kubectl kafka-backup status`; name another namespace with --namespace.',
  })
}
