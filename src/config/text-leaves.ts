import { isIPv6 } from 'node:net'
import { BACKUP_ID_PATTERN } from '../lib/name-patterns.ts'
import { type Complain, type Complaint, leaf, reference, type TextRule } from './leaf.ts'
import { isMap } from './problem.ts'

/** `hidden` for what may contain a secret, `secret` for what is one. */
export function text(rule: TextRule, options: { description: string; hidden?: boolean; secret?: boolean }) {
  const { description, secret = false, hidden = secret } = options
  return leaf<string, string>({
    description,
    type: rule.type,
    allowed: rule.allowed,
    json: jsonOfText(rule),
    hidden,
    secret,
    read: (value, complain) => readText(rule, value, complain),
  })
}

interface TextListOptions<S extends 'one' | 'commas'> {
  description: string
  allowed: string
  min: number
  /** A single text may stand for the list: `one` is a list of that text, `commas` is split at its commas. */
  shorthand?: S
  /** An item may contain a secret: no message shows one. */
  hidden?: boolean
}

export function textList<S extends 'one' | 'commas' = never>(rule: TextRule, options: TextListOptions<S>) {
  const { description, allowed, min, shorthand, hidden = false } = options
  const list = { type: 'array', items: jsonOfText(rule), ...(min > 0 ? { minItems: min } : {}) }
  const single = shorthand === 'one' ? jsonOfText(rule) : { type: 'string', minLength: 1 }
  return leaf<string[], readonly string[] | ([S] extends [never] ? never : string)>({
    description,
    type: shorthand === undefined ? 'list of text' : 'list of text, or text',
    allowed,
    hidden,
    json: shorthand === undefined ? list : { anyOf: [list, single] },
    read: (value, complain) => {
      const items = shorthand !== undefined && typeof value === 'string' ? spread(value, shorthand) : value
      if (!Array.isArray(items)) {
        complain({ wrong: 'is not a list', wantsList: true, allowed: `${allowed}, written as a list such as [a, b]` })
        return undefined
      }
      if (items.length < min) complain({ about: 'field', wrong: 'is an empty list' })
      const itemComplain = (index: number) => (complaint: Complaint) =>
        complain({ allowed: rule.allowed, ...complaint, ...(items === value ? { at: [index] } : {}) })
      const texts = items.map((item, index) => readText(rule, item, itemComplain(index)))
      return texts.filter(item => item !== undefined)
    },
  })
}

/** A map whose keys are names of the user's own. */
export function textMap(rule: TextRule, options: { description: string; allowed: string }) {
  const { description, allowed } = options
  return leaf<Record<string, string>, Readonly<Record<string, string>>>({
    description,
    type: 'map of text to text',
    allowed,
    json: { type: 'object', additionalProperties: jsonOfText(rule) },
    read: (value, complain) => {
      if (!isMap(value)) {
        complain({ wrong: 'is not a map' })
        return undefined
      }
      const entries = Object.entries(value).map(([key, item]) => {
        const read = readText(rule, item, complaint => complain({ allowed: rule.allowed, ...complaint, at: [key] }))
        return [key, read ?? ''] as const
      })
      return Object.fromEntries(entries)
    },
  })
}

export function readText(rule: TextRule, value: unknown, complain: Complain): string | undefined {
  if (value === null) complain({ about: 'field', wrong: 'has no value' })
  else if (typeof value === 'number' || typeof value === 'boolean') {
    complain({ wrong: `is read as a ${typeof value}, but this is a text: put quotes around it` })
  } else if (typeof value !== 'string') complain({ wrong: 'is not a text' })
  else {
    const wrong = rule.wrong(value)
    if (wrong === undefined) return value
    complain({ wrong })
  }
  return undefined
}

function spread(value: string, shorthand: 'one' | 'commas'): string[] {
  return shorthand === 'one' ? [value] : value.split(',').map(part => part.trim())
}

export function jsonOfText(rule: TextRule): Record<string, unknown> {
  return { type: 'string', anyOf: [{ pattern: rule.pattern }, reference] }
}

export const anyText: TextRule = {
  type: 'text',
  allowed: 'a text that is not empty',
  pattern: '[\\s\\S]',
  wrong: text => (text === '' ? 'is empty' : undefined),
}

export const backupId: TextRule = {
  type: 'text',
  allowed: '1 to 200 of A-Z a-z 0-9 . _ -, not beginning with a dot',
  pattern: BACKUP_ID_PATTERN,
  wrong: text => {
    if (text === '') return 'is empty'
    if (text.length > 200) return `has ${text.length} characters`
    if (text.startsWith('.')) return 'begins with a dot'
    return /^[A-Za-z0-9._-]+$/.test(text) ? undefined : 'has a character that is not allowed'
  },
}

export const clientId: TextRule = {
  type: 'text',
  allowed: '1 to 200 of A-Z a-z 0-9 . _ -',
  pattern: '^[A-Za-z0-9._-]{1,200}$',
  wrong: text => (/^[A-Za-z0-9._-]{1,200}$/.test(text) ? undefined : 'is not a client id'),
}

export const hostAndPort: TextRule = {
  type: 'text',
  allowed: 'host:port, such as kafka-1:9092 or [::1]:9092',
  pattern: '^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+):[0-9]{1,5}$',
  wrong: text => {
    if (text === '') return 'is empty'
    if (text.includes('://')) return 'has a scheme'
    const [, ip, host, port] = /^(?:\[(.*)\]|([^:[\]]*))(?::(\d*))?$/.exec(text) ?? []
    if (ip === undefined && host === undefined)
      return text.includes('[') ? 'is not host:port' : 'needs [ ] around its IPv6 address'
    if (ip === undefined ? !/^[A-Za-z0-9._-]+$/.test(host ?? '') : !isIPv6(ip)) return 'has no valid host'
    if (port === undefined || port === '') return 'has no port'
    return Number(port) >= 1 && Number(port) <= 65535 ? undefined : 'has a port outside 1 to 65535'
  },
}

/**
 * A variable such as the IP of a pod is of either family, and may be written with or without brackets: `${POD_IP}:8080` and
 * `[${POD_IP}]:8080` both work for both. The last colon is the port's.
 */
export const listenAddress: TextRule = {
  type: 'text',
  allowed: 'host:port, such as 127.0.0.1:9309, [::1]:9309 or ::1:9309',
  pattern: '^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+):[0-9]{1,5}$',
  wrong: text => {
    const [, ip, port] = /^([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*):(\d{1,5})$/.exec(text) ?? []
    if (ip !== undefined && isIPv6(ip)) return hostAndPort.wrong(`[${ip}]:${port}`)
    return hostAndPort.wrong(text.replace(/^\[([0-9.]+)\]/, '$1'))
  },
}

export const topicPattern: TextRule = {
  type: 'text',
  allowed: 'a topic name of A-Z a-z 0-9 . _ - in which * matches any characters and ? matches one',
  pattern: '^[A-Za-z0-9._*?-]{1,249}$',
  wrong: text => (/^[A-Za-z0-9._*?-]{1,249}$/.test(text) ? undefined : 'is not a topic name or pattern'),
}

export const folder: TextRule = {
  type: 'file path',
  allowed: 'the path of a folder, such as /backups or ./backups',
  pattern: '^[^~]',
  wrong: text => {
    if (text === '') return 'is empty'
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    if (/[\u0000-\u001f]/.test(text)) return 'has a control character'
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return 'is a URL'
    return text.startsWith('~') ? `begins with ~, which only a shell expands (write \${HOME} instead)` : undefined
  },
}

export const fileMode: TextRule = {
  type: 'text',
  allowed: 'permissions in octal digits that let the owner read and write, such as 0640, in quotes',
  pattern: '^0?[67][0-7][0-7]$',
  wrong: text => {
    if (!/^0?[0-7]{3}$/.test(text)) return 'is not three octal digits'
    if (!/^0?[67]/.test(text)) return 'does not let the owner read and write'
    return /[0-7]*[1357][0-7]*$/.test(text.slice(-3)) ? 'lets files be executed' : undefined
  },
}

export const keyPrefix: TextRule = {
  type: 'text',
  allowed: 'names of A-Z a-z 0-9 . _ - joined by /, such as prod/eu, none of them beginning with a dot',
  pattern: '^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$',
  wrong: text => {
    if (text === '') return 'is empty'
    if (text.startsWith('/')) return 'begins with a slash'
    if (text.endsWith('/')) return 'ends with a slash'
    const names = text.split('/')
    if (names.some(name => name.startsWith('.'))) return 'has a name that begins with a dot'
    if (text.length > 500 || names.some(name => name.length > 200)) return 'is too long'
    return names.every(name => /^[A-Za-z0-9._-]+$/.test(name)) ? undefined : 'is not a key prefix'
  },
}

export const httpUrl: TextRule = {
  type: 'URL',
  allowed: 'an http or https URL, such as https://registry:8081',
  pattern: '^[Hh][Tt][Tt][Pp][Ss]?://.',
  wrong: text => wrongUrl(text, 'under auth'),
}

/** `credentialsGo` says where credentials belong, if there is a place for them. */
export function wrongUrl(text: string, credentialsGo?: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || !/^https?:\/\//i.test(text))
    return 'is not a URL of http or https'
  if (url.username === '' && url.password === '') return undefined
  return credentialsGo === undefined ? 'has credentials in it' : `has credentials in it (give them ${credentialsGo})`
}

export const file: TextRule = { ...folder, allowed: 'the path of a file' }

/** Stores of other formats are known by their endings; the way out is named. */
export const pemFile: TextRule = {
  ...file,
  allowed: 'the path of a PEM file',
  wrong: text => {
    const ending = /\.(jks|p12|pfx|keystore|truststore)$/i.exec(text)?.[1]?.toLowerCase()
    if (ending === undefined) return file.wrong(text)
    const toPem = '`openssl pkcs12 -in store.p12 -nodes -out store.pem`'
    return ending === 'p12' || ending === 'pfx'
      ? `is a PKCS#12 store; convert it with ${toPem}`
      : `is a Java keystore; convert it with \`keytool -importkeystore -srckeystore store.jks -destkeystore store.p12\` and ${toPem}`
  },
}

/** A secret goes there, so it is sent over TLS, or does not leave the machine. */
export const tokenUrl: TextRule = {
  ...httpUrl,
  allowed: 'an https URL, or http to this machine',
  wrong: text => {
    const wrong = wrongUrl(text)
    if (wrong !== undefined) return wrong
    const { protocol, hostname } = new URL(text)
    if (protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname)) return undefined
    return 'is not https, and the secret of the client would be sent in the clear'
  },
}

export const printableText: TextRule = {
  type: 'text',
  allowed: 'a text of printable ASCII characters',
  pattern: '^[ -~]+$',
  wrong: text => (/^[ -~]+$/.test(text) ? undefined : 'is empty or has a character that is not printable ASCII'),
}
