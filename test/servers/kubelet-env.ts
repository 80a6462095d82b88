import type { KubeApi } from './kube-api.ts'
import { NotReadyError, readConfig, readField } from './kubelet-config.ts'
import type { Container, EnvVar, OptionalRef, Pod } from './kubelet-pod-spec.ts'

/** The environment of a container on top of `base`. */
export async function makeEnvironment(
  api: KubeApi,
  pod: Pod,
  container: Container,
  podIp: string,
  base: Record<string, string>,
): Promise<Record<string, string>> {
  const env = { ...base }
  for (const variable of container.env ?? []) {
    const value = await readVariable(api, pod, variable, podIp, env)
    if (value !== undefined) env[variable.name] = value
  }
  return env
}

/** `$(NAME)` becomes the variable's value, `$$` a dollar; a name that is not known stays as it is. */
export function expand(text: string, env: Record<string, string>): string {
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (whole, name?: string) =>
    name === undefined ? '$' : Object.hasOwn(env, name) ? (env[name] ?? '') : whole,
  )
}

async function readVariable(
  api: KubeApi,
  pod: Pod,
  { name, value = '', valueFrom }: EnvVar,
  podIp: string,
  env: Record<string, string>,
): Promise<string | undefined> {
  const namespace = pod.metadata.namespace ?? ''
  if (valueFrom === undefined) return expand(value, env)
  if (valueFrom.fieldRef) return readField(pod, valueFrom.fieldRef.fieldPath, podIp)
  if (valueFrom.secretKeyRef) return readKey(api, namespace, valueFrom.secretKeyRef)
  throw new NotReadyError('CreateContainerConfigError', `the runner does not know the source of the variable ${name}`)
}

async function readKey(
  api: KubeApi,
  namespace: string,
  ref: OptionalRef & { key: string },
): Promise<string | undefined> {
  const value = (await readConfig(api, 'Secret', namespace, ref))?.get(ref.key)
  if (value !== undefined || ref.optional) return value?.toString('utf8')
  const message = `couldn't find key ${ref.key} in Secret ${namespace}/${ref.name}`
  throw new NotReadyError('CreateContainerConfigError', message)
}
