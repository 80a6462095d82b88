const REDACTED = '[redacted]'

/** Names under which secrets are kept, in any spelling: `client_secret`, `clientSecret`, `sasl.jaas.config`. */
const secretName =
  /passw(or)?d|passphrase|secret|token(?!url)|credential|authorization|(api|access|account|private|shared)key|jaasconfig|connectionstring|signature/

/** Shorter ones would blot out ordinary words; in fields with a secret name they are hidden anyway. */
const SHORTEST = 4

/** A login inside an address or a header, and a private key as text: secrets wherever they occur. */
const secretForms: readonly (readonly [RegExp, string])[] = [
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@"'<>]+@/gi, `$1${REDACTED}@`],
  [/\b([Bb]asic|BASIC|[Bb]earer|BEARER) +(?=\S*[0-9A-Z=])[A-Za-z0-9+/=._~-]{4,}/g, `$1 ${REDACTED}`],
  [/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?(-----END \1-----|$)/g, REDACTED],
]

/** `password_file` and `passphrase_env` hold no secret but the place of one, which a message about it has to name. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '')
  return secretName.test(plain) && !/(file|env)$/.test(plain)
}

/** Every text under a secret name, at any depth: what a job file must not leak. */
export function secretsIn(tree: unknown): string[] {
  return collect(tree, false)
}

function collect(value: unknown, isSecret: boolean): string[] {
  if (typeof value === 'string') return isSecret && value !== '' ? [value] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, item]) => collect(item, isSecret || isSecretName(name)))
}

/** How a server may echo a secret: in an address, in a form, in JSON, and in base64, as HTTP sends a login. */
function encodedForms(secret: string): string[] {
  const inAddress = encodeURIComponent(secret.toWellFormed())
  const texts = [secret, inAddress, inAddress.replaceAll('%20', '+'), JSON.stringify(secret).slice(1, -1)]
  const packed = [0, 1, 2].map(bytesBefore => base64Within(secret, bytesBefore)).filter(form => form.length >= SHORTEST)
  const inAddresses = packed.map(form => form.replaceAll('+', '-').replaceAll('/', '_'))
  return [...new Set([...texts, ...packed, ...inAddresses])]
}

/** The digits of base64 that depend on the secret alone where `bytesBefore` (modulo 3) bytes precede it, such as a user name. */
function base64Within(secret: string, bytesBefore: number): string {
  const bytes = Buffer.concat([Buffer.alloc(bytesBefore), Buffer.from(secret)])
  const digits = bytes.toString('base64').replace(/=+$/, '')
  const shared = bytes.length % 3 === 0 ? 0 : 1
  return digits.slice(Math.ceil((bytesBefore * 8) / 6), digits.length - shared)
}

/** Hides secrets in whatever is shown or logged: known values, values under secret names, and what looks like one. */
export class Redactor {
  readonly #secrets = new Set<string>()
  #pattern: RegExp | undefined

  constructor(secrets: readonly string[] = []) {
    this.add(secrets)
  }

  add(secrets: readonly string[]): void {
    for (const secret of secrets) {
      if (secret.length < SHORTEST) continue
      for (const form of encodedForms(secret)) this.#secrets.add(form)
    }
    // The longest first: one secret may be a part of another.
    const sources = [...this.#secrets].sort((a, b) => b.length - a.length).map(RegExp.escape)
    this.#pattern = sources.length === 0 ? undefined : new RegExp(sources.join('|'), 'g')
  }

  text(text: string): string {
    const known = this.#pattern === undefined ? text : text.replace(this.#pattern, REDACTED)
    return secretForms.reduce((result, [form, replacement]) => result.replace(form, replacement), known)
  }

  /** A copy of plain data for a log line: errors become their messages, large integers their digits. */
  value(value: unknown, name = ''): unknown {
    if (value !== null && value !== undefined && value !== '' && isSecretName(name)) return REDACTED
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Error) return this.text(value.message)
    if (Array.isArray(value)) return value.map(item => this.value(item))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [this.text(key), this.value(item, key)]))
  }
}
