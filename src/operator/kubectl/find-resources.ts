import { KafkaBackupError, usageError } from '../../errors.ts'
import { type Controller, controllers, type Resource, resourceKinds } from '../crd/resource.ts'
import type { KubeApi } from '../kube/kube-api.ts'

export interface FoundResource {
  controller: Controller
  resource: Resource
}

export interface SearchScope {
  apiGroup: string
  /** All namespaces where it is not given. */
  namespace: string | undefined
}

/** A resource as the command line names it: `orders`, `backup/orders`, `kafkabackups/orders`. */
interface Wanted {
  text: string
  name: string
  /** Undefined for any. */
  controller: Controller | undefined
}

/** The named resources in the order of their names, or all of them. Every name has to exist, and in one kind only. */
export async function findResources(
  api: KubeApi,
  scope: SearchScope,
  names: readonly string[],
  signal: AbortSignal,
): Promise<FoundResource[]> {
  const wanted = names.map(text => parseWanted(text, scope.apiGroup))
  const isAny = wanted.length === 0 || wanted.some(({ controller }) => controller === undefined)
  const asked = isAny ? controllers : controllers.filter(one => wanted.some(({ controller }) => controller === one))
  const all = (await Promise.all(asked.map(one => listKind(api, scope, one, signal)))).flat()
  return wanted.length === 0 ? all : wanted.flatMap(one => pick(one, all, scope))
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
  controller: Controller,
  signal: AbortSignal,
): Promise<FoundResource[]> {
  const kind = resourceKinds(apiGroup)[controller]
  const { items } = await api.list(kind, namespace === undefined ? {} : { namespace }, signal)
  return items.map(resource => ({ controller, resource }))
}

/** As kubectl takes the types: singular, plural, with the API group; and without `kafka`. */
function parseWanted(text: string, apiGroup: string): Wanted {
  const [type, name, ...more] = text.split('/')
  if (name === undefined && type) return { text, name: type, controller: undefined }
  const kinds = resourceKinds(apiGroup)
  const word = (type ?? '').toLowerCase().replace(`.${apiGroup}`, '')
  const controller = controllers.find(one => {
    const { kind, plural } = kinds[one]
    const singular = kind.toLowerCase()
    return [singular, plural, singular.slice('kafka'.length), plural.slice('kafka'.length)].includes(word)
  })
  if (controller !== undefined && name && more.length === 0) return { text, name, controller }
  const types = controllers.map(one => kinds[one].kind.toLowerCase().slice('kafka'.length))
  throw usageError(
    `${JSON.stringify(text)} is not a resource: use NAME or TYPE/NAME with a type of ${types.join(', ')}`,
  )
}

function pick({ text, name, controller }: Wanted, all: readonly FoundResource[], scope: SearchScope): FoundResource[] {
  const found = all.filter(
    one => one.resource.metadata.name === name && (controller === undefined || one.controller === controller),
  )
  if (found.length === 0) throw notFound(text, scope)
  const kinds = new Set(found.map(one => one.controller))
  if (kinds.size === 1) return found
  const choices = found.map(one => `${one.resource.kind?.toLowerCase()}/${name}`)
  throw usageError(`${text} is the name of several resources: use ${choices.join(' or ')}`)
}

function notFound(text: string, { namespace }: SearchScope): KafkaBackupError {
  const place = namespace === undefined ? 'any namespace' : `namespace "${namespace}"`
  return new KafkaBackupError('KUBE_NOT_FOUND', `there is no resource ${text} in ${place}`, {
    help: 'List the resources with `kubectl kafka-backup status`; name another namespace with --namespace.',
  })
}
