import assert from 'node:assert/strict'
import type { Kube } from '../servers/kube.ts'
import { openKubeApi } from '../servers/kube-api.ts'

/** A right in the words of a role: `get secrets`, `patch jobs.batch/status`, `get leases.coordination.k8s.io operator`. */
export type Right = string

/**
 * Everything that the account may do in the namespace, or with all namespaces and the cluster where none is given: the
 * rules that the API server applies, one right for each verb, resource and name. What every account may do is left out.
 */
export async function rightsOf(kube: Kube, account: string, namespace = 'without-any-role'): Promise<Right[]> {
  const [own, everyone] = await Promise.all([
    readRules(kube, account, namespace),
    readRules(kube, 'system:serviceaccount:default:without-any-role', namespace),
  ])
  const common = new Set(everyone.flatMap(formatRule))
  return [...new Set(own.flatMap(formatRule))].filter(right => !common.has(right)).sort()
}

export function formatRight(verb: string, group: string, resource: string, object?: string): Right {
  const [name = '', sub] = resource.split('/')
  const part = `${group === '' ? '' : `.${group}`}${sub === undefined ? '' : `/${sub}`}`
  return `${verb} ${name}${part}${object === undefined ? '' : ` ${object}`}`
}

interface Rule {
  verbs: string[]
  apiGroups: string[]
  resources: string[]
  /** Any where there are none. */
  resourceNames?: string[]
}

async function readRules({ admin }: Kube, impersonated: string, namespace: string): Promise<Rule[]> {
  const api = openKubeApi({ ...admin, impersonated })
  try {
    const review = (await api.request('POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace },
    })) as { status: { resourceRules: Rule[]; incomplete: boolean } }
    assert.equal(review.status.incomplete, false)
    return review.status.resourceRules
  } finally {
    api.close()
  }
}

function formatRule({ verbs, apiGroups, resources, resourceNames }: Rule): Right[] {
  return verbs.flatMap(verb =>
    apiGroups.flatMap(group =>
      resources.flatMap(resource =>
        (resourceNames ?? [undefined]).map(name => formatRight(verb, group, resource, name)),
      ),
    ),
  )
}
