import { usageError } from '../errors.ts'
import type { FoundRecord } from './found-record.ts'
import { type ShownHeader, type ShownPart, textOfPart } from './show-record.ts'

/** A record with its key, value and headers as they are shown. */
export interface ShownRecord {
  record: FoundRecord
  key: ShownPart
  value: ShownPart
  headers: readonly ShownHeader[]
}

type Piece = string | Buffer | ((shown: ShownRecord) => string | Buffer)

/** The letters of kcat. */
const fields: Readonly<Record<string, (shown: ShownRecord) => string | Buffer>> = {
  k: ({ key }) => bytesOf(key),
  s: ({ value }) => bytesOf(value),
  K: ({ record }) => String(record.key?.length ?? -1),
  S: ({ record }) => String(record.value?.length ?? -1),
  R: ({ record }) => lengthBytes(record.value?.length ?? -1),
  T: ({ record }) => String(record.timestamp),
  h: ({ headers }) => headers.map(({ name, part }) => `${name}=${headerText(part)}`).join(','),
  t: ({ record }) => record.topic,
  p: ({ record }) => String(record.partition),
  o: ({ record }) => String(record.offset),
  '%': () => '%',
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '\\': '\\', '0': '\0' }

/** A format such as `%k %s\n`, with the letters of kcat; a wrong one is a usage error that says what is allowed. */
export function parsePrintFormat(text: string): (shown: ShownRecord) => Buffer {
  const pieces: Piece[] = []
  for (const [token, field, hex, escaped] of text.matchAll(/%(.)|\\x([0-9a-fA-F]{2})|\\(.)|[^%\\]+|[%\\]$/gs)) {
    if (field !== undefined) pieces.push(fieldOf(field))
    else if (hex !== undefined) pieces.push(Buffer.from(hex, 'hex'))
    else if (escaped !== undefined) pieces.push(escapeOf(escaped))
    else if (token === '%' || token === '\\') throw wrongFormat(token)
    else pieces.push(token)
  }
  return shown => Buffer.concat(pieces.map(piece => asBytes(typeof piece === 'function' ? piece(shown) : piece)))
}

function fieldOf(letter: string): (shown: ShownRecord) => string | Buffer {
  const field = Object.hasOwn(fields, letter) ? fields[letter] : undefined
  if (!field) throw wrongFormat(`%${letter}`)
  return field
}

function escapeOf(letter: string): string {
  const text = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined
  if (text === undefined) throw wrongFormat(`\\${letter}`)
  return text
}

function wrongFormat(what: string) {
  const known = Object.keys(fields).map(letter => `%${letter}`)
  return usageError(
    `--print does not know ${what}; it knows ${known.join(', ')}, and \\n, \\r, \\t, \\0, \\\\ and \\xNN`,
  )
}

/** What was to be decoded and is not is written as it is, byte for byte. */
function bytesOf(shown: ShownPart): string | Buffer {
  return shown.bytes ?? textOfPart(shown)
}

function headerText(part: ShownPart): string {
  return part.encoding === 'null' ? 'NULL' : textOfPart(part)
}

function lengthBytes(length: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(length)
  return bytes
}

function asBytes(text: string | Buffer): Buffer {
  return typeof text === 'string' ? Buffer.from(text, 'utf8') : text
}
