import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KafkaBackupError } from '../../errors.ts'
import type { KubeAccess } from './access.ts'

/** Where the kubelet mounts the service account. */
export const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

export function isInCluster(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT)
}

/** The service account of the pod. */
export async function readInClusterAccess(env: NodeJS.ProcessEnv, folder = accountFolder): Promise<KubeAccess> {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = env
  const namespace = await readNamespace(join(folder, 'namespace'))
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ca: { file: join(folder, 'ca.crt') },
    token: { file: join(folder, 'token') },
    namespace,
  }
}

async function readNamespace(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (cause) {
    throw new KafkaBackupError('KUBE_CONFIG', `cannot read ${file}, which a pod has of its service account`, {
      cause,
      help: 'Set `automountServiceAccountToken: true` for the operator, or give `--kubeconfig` outside of a cluster.',
    })
  }
}
