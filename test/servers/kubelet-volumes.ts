import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { KubeApi } from './kube-api.ts'
import { type ConfigKind, NotReadyError, readConfig, readField } from './kubelet-config.ts'
import type { FilesSource, Pod, ProjectedSource, Volume } from './kubelet-pod-spec.ts'

export interface VolumeParts {
  api: KubeApi
  podIp: string
  /** Of the pod. */
  folder: string
  claimPath(namespace: string, name: string): string
}

/** Where a volume lies on this machine. Those that Kubernetes fills are read-only, as they are in a pod. */
export interface ReadyVolume {
  path: string
  readOnly: boolean
}

/** A folder for each volume of the pod by name; a `NotReadyError` tells what is missing. */
export async function makeVolumes(pod: Pod, parts: VolumeParts): Promise<Map<string, ReadyVolume>> {
  const ready = new Map<string, ReadyVolume>()
  for (const volume of pod.spec.volumes ?? []) ready.set(volume.name, await makeVolume(pod, volume, parts))
  return ready
}

interface VolumeFile {
  path: string
  content: Buffer
  mode: number
}

async function makeVolume(pod: Pod, volume: Volume, parts: VolumeParts): Promise<ReadyVolume> {
  const namespace = pod.metadata.namespace ?? ''
  const group = pod.spec.securityContext?.fsGroup
  if (volume.persistentVolumeClaim) {
    const { claimName, readOnly = false } = volume.persistentVolumeClaim
    await requireClaim(parts.api, namespace, claimName)
    return { path: await makeOpen(parts.claimPath(namespace, claimName), group), readOnly }
  }
  const path = join(parts.folder, 'volumes', volume.name)
  if (volume.emptyDir) return { path: await makeOpen(path, group), readOnly: false }
  await writeFiles(path, await readFiles(pod, volume, parts), group)
  return { path, readOnly: true }
}

async function requireClaim(api: KubeApi, namespace: string, name: string): Promise<void> {
  if (await api.find({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name })) return
  throw new NotReadyError('ContainerCreating', `persistentvolumeclaim "${name}" not found`)
}

/** Everybody may write into it; what is made in it belongs to the group, if there is one. */
async function makeOpen(path: string, group?: number): Promise<string> {
  await mkdir(path, { recursive: true })
  if (group !== undefined) await chown(path, 0, group)
  await chmod(path, group === undefined ? 0o777 : 0o2777)
  return path
}

async function readFiles(pod: Pod, volume: Volume, parts: VolumeParts): Promise<VolumeFile[]> {
  if (volume.configMap) return readConfigFiles(pod, 'ConfigMap', volume.configMap, parts)
  if (volume.secret) return readConfigFiles(pod, 'Secret', { ...volume.secret, name: volume.secret.secretName }, parts)
  if (volume.projected) {
    const { sources, defaultMode = 0o644 } = volume.projected
    return (await Promise.all(sources.map(each => readProjected(pod, each, parts, defaultMode)))).flat()
  }
  throw new NotReadyError('ContainerCreating', `the runner does not know the kind of the volume ${volume.name}`)
}

async function readProjected(
  pod: Pod,
  { configMap, secret, downwardAPI, serviceAccountToken }: ProjectedSource,
  parts: VolumeParts,
  mode: number,
): Promise<VolumeFile[]> {
  if (configMap) return readConfigFiles(pod, 'ConfigMap', { defaultMode: mode, ...configMap }, parts)
  if (secret) return readConfigFiles(pod, 'Secret', { defaultMode: mode, ...secret }, parts)
  if (serviceAccountToken) {
    const token = await requestPodToken(pod, serviceAccountToken, parts.api)
    return [{ path: serviceAccountToken.path, content: Buffer.from(token), mode }]
  }
  return (downwardAPI?.items ?? []).map(({ path, fieldRef }) => ({
    path,
    content: Buffer.from(readField(pod, fieldRef.fieldPath, parts.podIp)),
    mode,
  }))
}

async function readConfigFiles(
  pod: Pod,
  kind: ConfigKind,
  source: FilesSource,
  { api }: VolumeParts,
): Promise<VolumeFile[]> {
  const values = await readConfig(api, kind, pod.metadata.namespace ?? '', source)
  if (values === undefined) return []
  const items = source.items ?? [...values.keys()].map(key => ({ key, path: key, mode: undefined }))
  return items.flatMap(({ key, path, mode }) => {
    const content = values.get(key)
    if (content !== undefined) return [{ path, content, mode: mode ?? source.defaultMode ?? 0o644 }]
    if (source.optional) return []
    throw new NotReadyError('ContainerCreating', `references non-existent ${kind.toLowerCase()} key: ${key}`)
  })
}

/** A token that is good while the pod is. */
async function requestPodToken(
  { metadata, spec }: Pod,
  { audience, expirationSeconds = 3600 }: { audience?: string; expirationSeconds?: number },
  api: KubeApi,
): Promise<string> {
  const name = spec.serviceAccountName ?? 'default'
  const ref = { apiVersion: 'v1', kind: 'ServiceAccount', namespace: metadata.namespace, name }
  const answer = await api.createSub(ref, 'token', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      expirationSeconds,
      ...(audience ? { audiences: [audience] } : {}),
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: metadata.name, uid: metadata.uid },
    },
  })
  return (answer as { status: { token: string } }).status.token
}

async function writeFiles(folder: string, files: readonly VolumeFile[], group: number | undefined): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o755)
  for (const { path, content, mode } of files) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
    if (group !== undefined) await chown(file, 0, group)
    await chmod(file, group === undefined ? mode : mode | 0o440)
  }
}
