import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mustRun } from './run-command.ts'

/** PEM files of one identity. */
export interface Identity {
  cert: string
  key: string
  /** Key and certificate in one file, as Kafka's PEM key stores are. */
  store: string
}

export interface IdentityOptions {
  /** Whose signature it bears; its own without one. */
  signedBy?: Identity
  /** As OpenSSL writes them: `DNS:localhost,IP:127.0.0.1`. */
  names?: string
  /** Negative for one that has expired. */
  days?: number
  /** The groups of a user of Kubernetes. */
  organizations?: readonly string[]
}

/** Where the brokers of tests are reached. */
export const brokerNames = 'DNS:localhost,IP:127.0.0.1'

/** Makes a key and a certificate for it in the folder. */
export async function makeIdentity(folder: string, name: string, options: IdentityOptions = {}): Promise<Identity> {
  const { signedBy, names, days = 2, organizations = [] } = options
  await mkdir(folder, { recursive: true })
  const [cert, key, store, request, extensions] = ['pem', 'key', 'store.pem', 'csr', 'ext'].map(ending =>
    join(folder, `${name}.${ending}`),
  ) as [string, string, string, string, string]
  const isAuthority = signedBy === undefined && names === undefined
  const lines = [`basicConstraints=critical,CA:${isAuthority}`, ...(names ? [`subjectAltName=${names}`] : [])]
  await writeFile(extensions, `${lines.join('\n')}\n`)
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key]
  const subject = `${organizations.map(each => `/O=${each}`).join('')}/CN=${name}`
  await mustRun('openssl', ['req', ...newKey, '-subj', subject, '-out', request])
  const signer = signedBy ? ['-CA', signedBy.cert, '-CAkey', signedBy.key, '-CAcreateserial'] : ['-signkey', key]
  const sign = ['x509', '-req', '-in', request, '-days', String(days), '-extfile', extensions, ...signer, '-out', cert]
  await mustRun('openssl', sign)
  await writeFile(store, `${await readFile(key, 'utf8')}${await readFile(cert, 'utf8')}`)
  return { cert, key, store }
}

/** The same key under a password. */
export async function encryptKey(identity: Identity, password: string): Promise<string> {
  const encrypted = `${identity.key}.encrypted`
  const cipher = ['-topk8', '-v2', 'aes-256-cbc', '-passout', `pass:${password}`]
  await mustRun('openssl', ['pkcs8', ...cipher, '-in', identity.key, '-out', encrypted])
  return encrypted
}
