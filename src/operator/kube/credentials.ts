import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { parseYaml } from '../../config/yaml-source.ts'
import { KafkaBackupError } from '../../errors.ts'
import type { ExecCommand } from './exec-credential.ts'

/** How the API server is reached, and as whom. */
export interface KubeCredentials {
  /** `https://host:port`, perhaps with a path. */
  server: string
  /** The name that the server's certificate must bear, where it is not the host. */
  serverName?: string
  /** The authorities of the system where it is not given. */
  ca?: Secret
  token?: Secret
  clientCert?: Secret
  clientKey?: Secret
  /** Prints the login, instead of the three above. */
  exec?: ExecCommand
  /** The namespace of the pod, or of the context. */
  namespace?: string
}

/** A file is read again when it changes: tokens and certificates are replaced while the operator runs. */
export type Secret = { file: string } | { text: string }

export interface KubeconfigChoice {
  /** Instead of the current context. */
  context?: string | undefined
  /** A person is there who trusts the programs of the kubeconfig. The operator runs none. */
  mayExec?: boolean
}

/**
 * The file that was asked for, else the pod's service account, else what kubectl would use. A person in a pod who set KUBECONFIG means that
 * cluster, as kubectl does.
 */
export async function findCredentials(
  kubeconfig: string | undefined,
  env: NodeJS.ProcessEnv,
  choice: KubeconfigChoice = {},
): Promise<KubeCredentials> {
  if (kubeconfig !== undefined) return readKubeconfig(kubeconfig, choice)
  const isChosen = choice.context !== undefined || (choice.mayExec === true && Boolean(env.KUBECONFIG))
  if (isInCluster(env) && !isChosen) return readServiceAccount(env)
  const listed = (env.KUBECONFIG ?? '').split(delimiter).filter(file => file !== '')
  if (listed.length > 1) {
    throw new KafkaBackupError('KUBE_CONFIG', `KUBECONFIG names ${listed.length} files, and files are not merged`, {
      help: 'Write one with `kubectl config view --flatten --minify`, and give it as `--kubeconfig`.',
    })
  }
  return readKubeconfig(listed[0] ?? join(homedir(), '.kube', 'config'), choice)
}

/** Where the kubelet mounts the service account. */
const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

function isInCluster(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT)
}

/** The service account of the pod. */
export async function readServiceAccount(env: NodeJS.ProcessEnv, folder = accountFolder): Promise<KubeCredentials> {
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

type Fields = Record<string, unknown>

export async function readKubeconfig(file: string, choice: KubeconfigChoice = {}): Promise<KubeCredentials> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (cause) {
    throw new KafkaBackupError('KUBE_CONFIG', `cannot read the kubeconfig ${file}`, { cause })
  }
  return parseKubeconfig(text, file, choice)
}

/** A context of a kubeconfig. What is not supported or would weaken TLS is refused by its name. */
export function parseKubeconfig(text: string, file: string, choice: KubeconfigChoice = {}): KubeCredentials {
  const source = parseYaml(text)
  if ('faults' in source) {
    const [fault] = source.faults
    throw refuse(file, `line ${fault?.line}: ${fault?.wrong}`)
  }
  const config = asFields(source.tree)
  const name = choice.context ?? config['current-context']
  if (typeof name !== 'string' || name === '') throw refuse(file, 'current-context is not set')
  const context = findNamed(config, 'contexts', 'context', name, file)
  const cluster = findNamed(config, 'clusters', 'cluster', String(context.cluster), file)
  const user = context.user === undefined ? {} : findNamed(config, 'users', 'user', String(context.user), file)
  refuseUnsupported(cluster, user, file, choice)
  const { server } = cluster
  if (typeof server !== 'string' || !server.startsWith('https://')) {
    throw refuse(file, `the server of cluster ${context.cluster} has to be an https:// address`)
  }
  return compact({
    server: server.replace(/\/+$/, ''),
    serverName: textOf(cluster, 'tls-server-name'),
    ca: readSecret(cluster, 'certificate-authority', file),
    token: readToken(user, file),
    clientCert: readSecret(user, 'client-certificate', file),
    clientKey: readSecret(user, 'client-key', file),
    exec: readExec(user, file),
    namespace: textOf(context, 'namespace'),
  })
}

function findNamed(config: Fields, list: string, field: string, name: string, file: string): Fields {
  const entries = Array.isArray(config[list]) ? (config[list] as unknown[]).map(asFields) : []
  const found = entries.find(entry => entry.name === name)
  if (found === undefined) throw refuse(file, `${list} has no entry ${name}, which the chosen context needs`)
  return asFields(found[field])
}

function refuseUnsupported(cluster: Fields, user: Fields, file: string, { mayExec = false }: KubeconfigChoice): void {
  const unsupported = [
    ...['proxy-url'].filter(field => cluster[field]),
    ...[...(mayExec ? [] : ['exec']), 'auth-provider', 'username', 'password', 'as', 'as-groups', 'as-uid'].filter(
      field => user[field],
    ),
  ]
  const [field] = unsupported
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw refuse(file, 'insecure-skip-tls-verify is set, but certificates are always verified; give the authority')
  }
  if (field === undefined) return
  const command = field === 'exec' ? textOf(asFields(user.exec), 'command') : undefined
  const what = command === undefined ? field : `exec (${command})`
  throw refuse(file, `${what} is not supported; use a token, a token file or a client certificate`)
}

function readExec(user: Fields, file: string): ExecCommand | undefined {
  if (user.exec === undefined || user.exec === null) return undefined
  const exec = asFields(user.exec)
  const command = textOf(exec, 'command')
  if (command === undefined) throw refuse(file, 'exec has no command')
  const env = Array.isArray(exec.env) ? (exec.env as unknown[]).map(asFields) : []
  return {
    apiVersion: textOf(exec, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
    command: command.includes('/') ? resolve(dirname(file), command) : command,
    args: Array.isArray(exec.args) ? exec.args.map(String) : [],
    env: Object.fromEntries(env.map(({ name, value }) => [String(name), String(value ?? '')])),
  }
}

/** The file has precedence, as with kubectl. */
function readToken(user: Fields, file: string): Secret | undefined {
  const path = textOf(user, 'tokenFile')
  if (path !== undefined) return { file: resolve(dirname(file), path) }
  const token = textOf(user, 'token')
  return token === undefined ? undefined : { text: token }
}

/** The data has precedence, as with kubectl. */
function readSecret(fields: Fields, name: string, file: string): Secret | undefined {
  const data = textOf(fields, `${name}-data`)
  if (data !== undefined) return { text: Buffer.from(data, 'base64').toString('utf8') }
  const path = textOf(fields, name)
  return path === undefined ? undefined : { file: resolve(dirname(file), path) }
}

function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

function compact(access: { [K in keyof KubeCredentials]: KubeCredentials[K] | undefined }): KubeCredentials {
  return Object.fromEntries(
    Object.entries(access).filter(([, value]) => value !== undefined),
  ) as unknown as KubeCredentials
}

function refuse(file: string, why: string): KafkaBackupError {
  return new KafkaBackupError('KUBE_CONFIG', `the kubeconfig ${file} cannot be used: ${why}`)
}
