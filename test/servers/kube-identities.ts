import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Identity, makeIdentity } from './certificates.ts'
import type { KubeApi } from './kube-api.ts'
import type { KubeCredentials } from './kube-connection.ts'
import { apiServiceAddress } from './kube-flags.ts'

/** Somebody whom roles can be bound to. */
export type KubeSubject = { user: string; groups?: readonly string[] } | { serviceAccount: string; namespace: string }

export interface Identities {
  authority: Identity
  server: Identity
  admin: Identity
  /** Its key signs the tokens of service accounts. */
  accounts: Identity
}

/** The second address is the one that pods of a real node use. */
const serverNames = `IP:127.0.0.1,IP:${apiServiceAddress},DNS:localhost,DNS:kubernetes.default.svc`
const tokenSeconds = 3600

/** One authority signs the server and all who come with a certificate. */
export async function makeIdentities(folder: string): Promise<Identities> {
  const keys = join(folder, 'keys')
  const authority = await makeIdentity(keys, 'kubernetes-ca')
  // One after the other: each signature counts up a file of the authority.
  const server = await makeIdentity(keys, 'kube-apiserver', { signedBy: authority, names: serverNames })
  const admin = await makeIdentity(keys, 'admin', { signedBy: authority, organizations: ['system:masters'] })
  const accounts = await makeIdentity(keys, 'service-accounts')
  return { authority, server, admin, accounts }
}

/** Who asks as somebody: a service account by a token, a user by a certificate, which is made in the folder. */
export async function credentialsFor(
  subject: KubeSubject,
  { folder, authority, api, url, ca }: { folder: string; authority: Identity; api: KubeApi; url: string; ca: string },
): Promise<KubeCredentials> {
  if ('serviceAccount' in subject) return { url, ca, token: await requestToken(api, subject) }
  const organizations = subject.groups ?? []
  const own = join(folder, randomUUID())
  return makeCredentials(await makeIdentity(own, subject.user, { signedBy: authority, organizations }), url, ca)
}

export async function makeCredentials({ cert, key }: Identity, url: string, ca: string): Promise<KubeCredentials> {
  return { url, ca, cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }
}

/** A kubeconfig file is YAML, and JSON is YAML. */
export function formatKubeconfig({ url, ca, token, cert, key }: KubeCredentials): string {
  const encode = (pem: string) => Buffer.from(pem).toString('base64')
  const user = {
    ...(token === undefined ? {} : { token }),
    ...(cert && key ? { 'client-certificate-data': encode(cert), 'client-key-data': encode(key) } : {}),
  }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority-data': encode(ca) } }],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  })
}

async function requestToken(
  api: KubeApi,
  { serviceAccount, namespace }: { serviceAccount: string; namespace: string },
): Promise<string> {
  const ref = { apiVersion: 'v1', kind: 'ServiceAccount', namespace, name: serviceAccount }
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: tokenSeconds },
  }
  return ((await api.createSub(ref, 'token', request)) as { status: { token: string } }).status.token
}
