import { defaultApiGroup, resourceKinds } from '../../src/operator/crd/resource.ts'
import type { Kube } from '../servers/kube.ts'

/** A right in the words of a role: `get secrets`, `patch jobs.batch/status`. */
export type Right = string

interface ApiResource {
  group: string
  /** With the part of it, if one is meant: `jobs/status`. */
  name: string
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']

/**
 * Everything that the account may do in the namespace, or with all namespaces and the cluster where none is given:
 * each verb with each resource that the server has is asked for. What every account may do is left out.
 */
export async function rightsOf(kube: Kube, account: string, namespace: string | undefined): Promise<Right[]> {
  const known = (await listResources(kube)).filter(({ group }) => group !== defaultApiGroup)
  const asked = [...known, ...ours].flatMap(resource => verbs.map(verb => ({ ...resource, verb })))
  const found: Right[] = []
  // A few at a time: it is thousands of questions.
  for (let from = 0; from < asked.length; from += 50) {
    const some = asked.slice(from, from + 50)
    const answers = await Promise.all(some.map(each => isAllowed(kube, account, namespace, each)))
    found.push(...some.filter((_, at) => answers[at]).map(({ verb, group, name }) => formatRight(verb, group, name)))
  }
  return found.sort()
}

export function formatRight(verb: string, group: string, resource: string): Right {
  const [name = '', sub] = resource.split('/')
  return `${verb} ${name}${group === '' ? '' : `.${group}`}${sub === undefined ? '' : `/${sub}`}`
}

async function listResources({ api }: Kube): Promise<ApiResource[]> {
  const read = async (path: string, group: string) => {
    const { resources } = (await api.request('GET', path)) as { resources: { name: string }[] }
    return resources.map(({ name }) => ({ group, name }))
  }
  const { groups } = (await api.request('GET', '/apis')) as {
    groups: { name: string; preferredVersion: { groupVersion: string } }[]
  }
  const named = groups.map(({ name, preferredVersion }) => read(`/apis/${preferredVersion.groupVersion}`, name))
  return (await Promise.all([read('/api/v1', ''), ...named])).flat()
}

/** Roles can be about kinds that the server does not have yet. */
const ours = Object.values(resourceKinds()).flatMap(({ plural }) =>
  ['', '/status', '/finalizers', '/scale'].map(part => ({ group: defaultApiGroup, name: `${plural}${part}` })),
)

async function isAllowed(
  { api }: Kube,
  user: string,
  namespace: string | undefined,
  { verb, group, name }: ApiResource & { verb: string },
): Promise<boolean> {
  const [resource, subresource = ''] = name.split('/')
  const resourceAttributes = { verb, group, resource, subresource, ...(namespace === undefined ? {} : { namespace }) }
  const review = (await api.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    // Without the groups of every account, so that only what was bound to this one counts.
    spec: { user, resourceAttributes },
  })) as { status: { allowed: boolean } }
  return review.status.allowed
}
