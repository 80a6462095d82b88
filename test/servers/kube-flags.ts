import { join } from 'node:path'
import type { Identities } from './kube-identities.ts'

/** Kubernetes' default cluster IP range is not routed here; the API server wants one nevertheless. */
const serviceRange = '10.0.0.0/24'
/** The first address of the range is that of the API server's own service. */
export const apiServiceAddress = '10.0.0.1'

/** Those that do not need a node. */
export const usualControllers = [
  'clusterrole-aggregation-controller',
  'cronjob-controller',
  'deployment-controller',
  'garbage-collector-controller',
  'job-controller',
  'namespace-controller',
  'persistentvolumeclaim-protection-controller',
  'replicaset-controller',
  'root-ca-certificate-publisher-controller',
  'serviceaccount-controller',
  'ttl-after-finished-controller',
]

export function formatApiServerFlags(
  { authority, server, accounts }: Identities,
  etcdUrl: string,
  port: number,
  folder: string,
): string[] {
  return [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    // Otherwise it looks for an address of the machine, which may have none.
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${join(folder, 'apiserver')}`,
    `--tls-cert-file=${server.cert}`,
    `--tls-private-key-file=${server.key}`,
    `--client-ca-file=${authority.cert}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${accounts.cert}`,
    `--service-account-signing-key-file=${accounts.key}`,
    `--service-cluster-ip-range=${serviceRange}`,
    // So that it is Pod Security that decides about privileged pods.
    '--allow-privileged=true',
    // A loopback address is no endpoint of a service.
    '--endpoint-reconciler-type=none',
    // Queues by priority are for a server with many users, and take their time to start.
    '--enable-priority-and-fairness=false',
    '--profiling=false',
  ]
}

export function formatControllerFlags(
  { authority }: Identities,
  kubeconfig: string,
  port: number,
  folder: string,
  controllers: readonly string[],
): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join(',')}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${join(folder, 'controllers')}`,
    `--root-ca-file=${authority.cert}`,
    '--leader-elect=false',
    // Debian's etcd cannot give what these watches ask for, so each would be refused first.
    '--feature-gates=WatchListClient=false',
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    '--profiling=false',
  ]
}
