import type { KindRef, ObjectRef } from './kube-object.ts'

interface Resource {
  kind: string
  /** Plural; `pods/status` and the like are parts of another. */
  name: string
  namespaced: boolean
}

export interface ResourcePaths {
  ofKind(kind: KindRef): Promise<string>
  ofObject(ref: ObjectRef): Promise<string>
}

/** Finds the path of a kind by asking the server what it has; asks again when a kind is new. */
export function openResourcePaths(get: (path: string) => Promise<unknown>): ResourcePaths {
  const known = new Map<string, Resource[]>()
  const look = async (apiVersion: string) => {
    const { resources } = (await get(groupPath(apiVersion))) as { resources: Resource[] }
    known.set(apiVersion, resources)
  }
  const find = ({ apiVersion, kind }: KindRef) =>
    known.get(apiVersion)?.find(resource => resource.kind === kind && !resource.name.includes('/'))
  const ofKind = async (ref: KindRef) => {
    if (find(ref) === undefined) await look(ref.apiVersion)
    const resource = find(ref)
    if (resource === undefined) throw new Error(`the API server has no ${ref.kind} in ${ref.apiVersion}`)
    const scope = resource.namespaced && ref.namespace !== undefined ? `/namespaces/${ref.namespace}` : ''
    return `${groupPath(ref.apiVersion)}${scope}/${resource.name}`
  }
  return { ofKind, ofObject: async ref => `${await ofKind(ref)}/${ref.name}` }
}

function groupPath(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
}
