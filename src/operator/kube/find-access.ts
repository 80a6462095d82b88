import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { KafkaBackupError } from '../../errors.ts'
import type { KubeAccess } from './access.ts'
import { isInCluster, readInClusterAccess } from './in-cluster.ts'
import { readKubeconfig } from './kubeconfig.ts'

/** The file that was asked for, else the pod's service account, else what kubectl would use. */
export async function findAccess(kubeconfig: string | undefined, env: NodeJS.ProcessEnv): Promise<KubeAccess> {
  if (kubeconfig !== undefined) return readKubeconfig(kubeconfig)
  if (isInCluster(env)) return readInClusterAccess(env)
  const listed = (env.KUBECONFIG ?? '').split(delimiter).filter(file => file !== '')
  if (listed.length > 1) {
    throw new KafkaBackupError('KUBE_CONFIG', `KUBECONFIG names ${listed.length} files, and files are not merged`, {
      help: 'Write one with `kubectl config view --flatten --minify`, and give it as `--kubeconfig`.',
    })
  }
  return readKubeconfig(listed[0] ?? join(homedir(), '.kube', 'config'))
}
