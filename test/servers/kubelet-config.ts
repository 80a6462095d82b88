import type { KubeApi } from './kube-api.ts'
import type { KubeObject } from './kube-object.ts'
import type { OptionalRef, Pod } from './kubelet-pod-spec.ts'

/** Something that the pod needs is not there yet, or not as it should be; a kubelet waits for it and tries again. */
export class NotReadyError extends Error {
  readonly reason: string

  constructor(reason: string, message: string) {
    super(message)
    this.name = 'NotReadyError'
    this.reason = reason
  }
}

export type ConfigKind = 'Secret' | 'ConfigMap'

/** The content of a secret or config map by key; undefined where it is missing and may be. */
export async function readConfig(
  api: KubeApi,
  kind: ConfigKind,
  namespace: string,
  { name, optional }: OptionalRef,
): Promise<Map<string, Buffer> | undefined> {
  const found = await api.find<ConfigObject>({ apiVersion: 'v1', kind, namespace, name })
  if (found !== undefined) return decodeConfig(kind, found)
  if (optional) return undefined
  throw new NotReadyError('CreateContainerConfigError', `${kind.toLowerCase()} "${name}" not found`)
}

interface ConfigObject extends KubeObject {
  data?: Record<string, string>
  binaryData?: Record<string, string>
}

function decodeConfig(kind: ConfigKind, { data = {}, binaryData = {} }: ConfigObject): Map<string, Buffer> {
  const encoding = kind === 'Secret' ? 'base64' : 'utf8'
  return new Map([
    ...Object.entries(data).map(([key, value]): [string, Buffer] => [key, Buffer.from(value, encoding)]),
    ...Object.entries(binaryData).map(([key, value]): [string, Buffer] => [key, Buffer.from(value, 'base64')]),
  ])
}

/** The value of a field of a pod, as the downward API has it. */
export function readField({ metadata }: Pod, fieldPath: string, podIp: string): string {
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(fieldPath)
  if (keyed) return metadata[keyed[1] as 'labels' | 'annotations']?.[keyed[2] ?? ''] ?? ''
  const values: Record<string, string | undefined> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'status.podIP': podIp,
  }
  const value = values[fieldPath]
  if (value === undefined) throw new NotReadyError('CreateContainerConfigError', `unsupported fieldPath: ${fieldPath}`)
  return value
}
