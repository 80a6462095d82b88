import { stat } from 'node:fs/promises'
import type { SecureContext } from 'node:tls'
import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { nodeTls } from '../../lib/node-http.ts'
import { readText } from './secret.ts'
import type { TlsFiles } from './security-options.ts'

/** Files of a pair are replaced one after the other: for so long an unusable set leaves the earlier one in use. */
const REPLACING_MS = 60_000

/** The certificates and the key as they are on disk now: each new connection takes what it is given here. */
export class TlsContextSource {
  readonly files: TlsFiles
  readonly #clock: Clock
  #loaded: { context: SecureContext; version: string } | undefined
  #unusableSince: number | undefined

  constructor(files: TlsFiles, clock: Clock) {
    this.files = files
    this.#clock = clock
  }

  async current(): Promise<SecureContext> {
    const version = await this.#versionOfFiles()
    if (this.#loaded?.version === version) return this.#loaded.context
    try {
      const context = await loadContext(this.files)
      this.#loaded = { context, version }
      this.#unusableSince = undefined
      return context
    } catch (error) {
      this.#unusableSince ??= this.#clock.monotonic()
      const isReplacing = this.#clock.monotonic() - this.#unusableSince < REPLACING_MS
      if (this.#loaded && isReplacing) return this.#loaded.context
      throw error
    }
  }

  async #versionOfFiles(): Promise<string> {
    const { caCert, clientCert, clientKey } = this.files
    const stats = [caCert, clientCert, clientKey].map(async file => {
      if (file === undefined) return ''
      const found = await stat(file).catch(() => undefined)
      return `${found?.mtimeMs} ${found?.size} ${found?.ino}`
    })
    return (await Promise.all(stats)).join()
  }
}

async function loadContext(files: TlsFiles): Promise<SecureContext> {
  const ca = files.caCert === undefined ? undefined : await readPem(files.caCert, 'CA certificate', 'CERTIFICATE')
  const cert =
    files.clientCert === undefined ? undefined : await readPem(files.clientCert, 'client certificate', 'CERTIFICATE')
  const key = files.clientKey === undefined ? undefined : await readPem(files.clientKey, 'client key', 'PRIVATE KEY')
  try {
    return nodeTls.createSecureContext({
      minVersion: 'TLSv1.2',
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(files.clientKeyPassword !== undefined && { passphrase: files.clientKeyPassword }),
    })
  } catch (cause) {
    throw new KafkaBackupError('KAFKA_TLS', explain(cause, files), {
      cause,
      help: 'Give PEM files that belong together; `openssl x509 -in <file> -noout -text` shows what is in one.',
    })
  }
}

async function readPem(file: string, what: string, kind: 'CERTIFICATE' | 'PRIVATE KEY'): Promise<string> {
  const text = await readText(file, what)
  if (new RegExp(`-----BEGIN [A-Z ]*${kind}-----`).test(text)) return text
  const isStore = !text.includes('-----BEGIN ')
  throw new KafkaBackupError('KAFKA_TLS', `${file} holds no PEM ${kind.toLowerCase()}, which the ${what} has to be`, {
    help: isStore
      ? 'Convert a PKCS#12 store with `openssl pkcs12 -in store.p12 -nodes -out store.pem`; ' +
        'a JKS first with `keytool -importkeystore -srckeystore store.jks -destkeystore store.p12`.'
      : `The file needs a part that begins with -----BEGIN ${kind}-----.`,
  })
}

/** By OpenSSL's codes, which name the fault and never the content. */
function explain(cause: unknown, { caCert, clientCert, clientKey, clientKeyPassword }: TlsFiles): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
  if (code.includes('KEY_VALUES_MISMATCH') || code.includes('KEY_TYPE_MISMATCH')) {
    return `the private key ${clientKey} does not belong to the certificate ${clientCert}`
  }
  if (code.includes('PASSPHRASE') || code.includes('BAD_DECRYPT') || code.includes('BAD_PASSWORD')) {
    return clientKeyPassword === undefined
      ? `the private key ${clientKey} is encrypted; give its password as client_key_password`
      : `the password of the private key ${clientKey} is wrong`
  }
  const files = [caCert, clientCert, clientKey].filter(file => file !== undefined)
  return `the files ${files.join(', ')} cannot be used for TLS (${code})`
}
