import type { BatchHeader } from '../batch/header.ts'
import { usageError } from '../errors.ts'
import { NUMBER, type PathCondition } from '../lib/path-condition.ts'
import {
  hasSchemaGuid,
  KEY_HEADER,
  LONG_BYTES,
  type Part,
  readSchemaId,
  VALUE_HEADER,
} from '../registry/ids/schema-id.ts'
import { hasDecodedText, jsonOf, type KeyForms, keyForms } from './condition-forms.ts'
import { MAX_SEARCHED_CHARS } from './condition-text.ts'
import type { FoundRecord } from './found-record.ts'
import { fitsPath } from './json-path.ts'
import type { Decoded, SchemaDecoder } from './schema-decoder.ts'
import type { Showing } from './show-record.ts'
import { type Needle, Sieve } from './sieve.ts'
import type { PartFrames, Verdict } from './verdicts.ts'

/** What is asked of a record. All must hold. */
export interface Conditions {
  /** The key as it is shown, or as text. */
  key?: string | undefined
  /** The beginning of the key, likewise. */
  keyPrefix?: string | undefined
  headers: readonly HeaderCondition[]
  /** Is in the value: in its bytes, or in its decoded form as it is shown. */
  text?: string | undefined
  /** Of the decoded value, or of a value that is JSON. */
  paths?: readonly PathCondition[] | undefined
}

export interface HeaderCondition {
  name: string
  /** The stored bytes as text, or as hexadecimal digits in either case. */
  value?: string | undefined
}

/** `name`, or `name=value`. A header without a name cannot be asked for. */
export function parseHeaderCondition(text: string): HeaderCondition {
  const at = text.indexOf('=')
  if (at === 0 || text === '')
    throw usageError(`the header ${JSON.stringify(text)} has no name: give it as name, or name=value`)
  return at < 0 ? { name: text } : { name: text.slice(0, at), value: text.slice(at + 1) }
}

/** What one record may take to be compared. */
export interface MatchLimits {
  /** Of a key or value that is decoded, which takes up to fifty times the memory of its bytes. */
  maxDecodedBytes: number
  /** Of a decoded value as text. */
  maxTextChars: number
}

const fullLimits: MatchLimits = { maxDecodedBytes: Number.POSITIVE_INFINITY, maxTextChars: MAX_SEARCHED_CHARS }

/** Says whether a record meets conditions, and sorts out batches in which none can. */
export class RecordMatcher {
  /** Values that name a schema and could not be decoded, or are too long as text. Their bytes were searched. */
  notDecoded = 0
  /** Keys that name a schema and could not be decoded. Their bytes were compared. */
  keysNotDecoded = 0
  /** Records with a key or value beyond the limits. Its bytes were compared, and no field of it. */
  tooLarge = 0
  readonly #conditions: Conditions
  readonly #keyAs: Showing
  readonly #decoder: SchemaDecoder
  readonly #text: Buffer | undefined
  readonly #needles: readonly Needle[]
  readonly #sieve: Sieve
  readonly #decoded: readonly Part[]
  readonly #limits: MatchLimits

  constructor(conditions: Conditions, keyAs: Showing, decoder: SchemaDecoder, limits = fullLimits) {
    const { key, keyPrefix, text, paths = [] } = conditions
    this.#conditions = conditions
    this.#keyAs = keyAs
    this.#decoder = decoder
    this.#limits = limits
    this.#text = text === undefined ? undefined : Buffer.from(text, 'utf8')
    const asksKey = key !== undefined || keyPrefix !== undefined
    const asksValue = text !== undefined || paths.length > 0
    this.#decoded = [...(asksKey && keyAs === 'auto' ? ['key' as const] : []), ...(asksValue ? ['value' as const] : [])]
    this.#needles = needlesOf(conditions, keyAs)
    this.#sieve = new Sieve(this.#needles)
  }

  /** What a batch must hold in plain bytes, unless a schema or an escape writes it in another way. */
  get needles(): readonly Needle[] {
    return this.#needles
  }

  /** Whether records of a batch may meet the conditions. `body` is what the batch holds, unpacked. */
  mayMatch(body: Buffer, header: BatchHeader): boolean {
    return this.judge(this.#sieve.sift(body, header))
  }

  /** The same with what a sieve for these needles has found, by the schemas that were read so far. */
  judge(verdict: Verdict): boolean {
    if (verdict === 'none') return false
    return verdict === 'maybe' || verdict.every(frames => this.#mayBeDecoded(frames))
  }

  /** A schema gives bytes another form, except for JSON. */
  #mayBeDecoded({ part, ids }: PartFrames): boolean {
    let unknown = 0
    for (const [id, { frames }] of ids) {
      const form = this.#decoder.formOf(id)
      if (form === 'decoded' || (form === 'json' && part === 'key')) return true
      if (form === 'unknown') unknown += frames
    }
    if (part === 'value') this.notDecoded += unknown
    else this.keysNotDecoded += unknown
    return false
  }

  /**
   * Whether the bytes of a record already exclude it, by the schemas that were read so far: most records of an opened batch end
   * here, without a promise for each. It finds and counts what `matches` would.
   */
  excludes(record: Contents): boolean {
    const { key, keyPrefix, headers } = this.#conditions
    const { value } = record
    if (!hasHeaders(record, headers)) return true
    if (this.#text === undefined || key !== undefined || keyPrefix !== undefined) return false
    if (value === null) return true
    if (record.headers.some(([name]) => name === VALUE_HEADER)) return false
    if (hasSchemaGuid(value, 0, value.length) || value.includes(this.#text)) return false
    const id = readSchemaId(value, 0, value.length)
    if (id > 0 && this.#decoder.formOf(id) !== 'unknown') return false
    if (id > 0 && value.length !== LONG_BYTES) this.notDecoded++
    return true
  }

  async matches(record: FoundRecord, signal: AbortSignal): Promise<boolean> {
    if (!hasHeaders(record, this.#conditions.headers)) return false
    if (this.#decoded.length > 0) await this.#decoder.prepare(record, this.#decoded, signal)
    return this.#hasKey(record) && this.#hasValue(record)
  }

  #hasKey(record: FoundRecord): boolean {
    const { key, keyPrefix } = this.#conditions
    if (key === undefined && keyPrefix === undefined) return true
    if (record.key === null) return false
    const bytes = record.key
    const maxChars = Math.max(key?.length ?? 0, keyPrefix?.length ?? 0)
    const isLarge = this.#keyAs === 'auto' && this.#isLarge(record, 'key')
    const shown: KeyForms = isLarge ? { forms: [] } : keyForms(record, this.#keyAs, this.#decoder, maxChars)
    const { forms, reason } = shown
    if (reason !== undefined) this.keysNotDecoded++
    const isKey = (text: string) => bytes.equals(Buffer.from(text, 'utf8')) || forms.includes(text)
    const begins = (text: string) => startsWith(bytes, text) || forms.some(form => form.startsWith(text))
    const hasKey = (key === undefined || isKey(key)) && (keyPrefix === undefined || begins(keyPrefix))
    if (isLarge && !hasKey) this.tooLarge++
    return hasKey
  }

  #hasValue(record: FoundRecord): boolean {
    const { paths = [] } = this.#conditions
    const { value } = record
    if (this.#text === undefined && paths.length === 0) return true
    if (value === null) return false
    const hasText = this.#text === undefined || value.includes(this.#text)
    if (value.length > this.#limits.maxDecodedBytes) return this.#hasLargeValue(record, hasText)
    const decoded = this.#decoder.decode(record, 'value')
    if (decoded.kind === 'raw') this.notDecoded++
    if (!hasText && !this.#hasDecodedText(decoded)) return false
    if (paths.length === 0) return true
    const json = jsonOf(decoded)
    return json !== undefined && paths.every(one => fitsPath(one, json.value))
  }

  #hasDecodedText(decoded: Decoded): boolean {
    const answer = hasDecodedText(decoded, this.#conditions.text ?? '', this.#limits.maxTextChars)
    if (answer === 'unclear') {
      this.notDecoded++
      this.tooLarge++
    }
    return answer === 'yes'
  }

  /** It may be JSON, so every condition on a field counts it. */
  #hasLargeValue(record: FoundRecord, hasText: boolean): boolean {
    if (!hasText && !this.#isLarge(record, 'value')) return false
    if (hasText && (this.#conditions.paths ?? []).length === 0) return true
    this.tooLarge++
    return false
  }

  /** Beyond the limit, and a schema may give it another form: what names one begins with the byte 0 or 1. */
  #isLarge(record: FoundRecord, part: Part): boolean {
    const bytes = record[part]
    if (bytes === null || bytes.length <= this.#limits.maxDecodedBytes) return false
    const header = part === 'key' ? KEY_HEADER : VALUE_HEADER
    if (record.headers.some(([name]) => name === header)) return true
    const id = readSchemaId(bytes, 0, bytes.length)
    return (bytes[0] ?? 2) <= 1 && !(part === 'value' && id > 0 && this.#decoder.formOf(id) === 'json')
  }
}

/** `indexOf` with a text would search all of the key, and ends the process at half of a surrogate pair. */
function startsWith(bytes: Buffer, text: string): boolean {
  const prefix = Buffer.from(text, 'utf8')
  return bytes.subarray(0, prefix.length).equals(prefix)
}

type Contents = Pick<FoundRecord, 'key' | 'value' | 'headers'>

export function hasHeaders({ headers }: Contents, wanted: readonly HeaderCondition[]): boolean {
  return wanted.every(({ name, value }) =>
    headers.some(([own, bytes]) => own === name && (value === undefined || isHeaderValue(bytes, value))),
  )
}

/** The stored bytes as text, or as hexadecimal digits in either case, whether or not they are text. */
function isHeaderValue(bytes: Buffer | null, value: string): boolean {
  if (bytes === null) return false
  if (bytes.toString('utf8') === value) return true
  return value.length === 2 * bytes.length && bytes.toString('hex') === value.toLowerCase()
}

/** Text that JSON writes as it is, unless it escapes something. */
const PLAIN_TEXT = /^[\p{L}\p{N} _:/@+.-]+$/u
/** What may stand for bytes: keys that are not text are shown so, and headers can be asked for so. */
const HEX = /^[0-9a-f]*$/i

function needlesOf({ key, keyPrefix, text, paths = [], headers }: Conditions, keyAs: Showing): Needle[] {
  const needle = (part: Part | undefined, content: string, isJson = false): Needle => ({
    ...{ part, isJson },
    bytes: Buffer.from(content, 'utf8'),
  })
  // A number has many forms, and so have bytes that are not text.
  const isText = (one: string) => one !== '' && one.isWellFormed() && !one.includes('\ufffd')
  const isFixed = (one: string) => isText(one) && !HEX.test(one) && !NUMBER.test(one)
  const keys = [key ?? '', keyPrefix ?? ''].filter(isFixed)
  const values = paths.flatMap(({ test }) => (test?.operator === '=' ? [test.value] : []))
  const names = headers.flatMap(({ name, value = '' }) => [...[name].filter(isText), ...[value].filter(isFixed)])
  return [
    ...names.map(one => needle(undefined, one)),
    ...(keyAs === 'auto' ? keys.map(one => needle('key', one)) : []),
    ...(text === undefined || text === '' ? [] : [needle('value', text)]),
    ...values.filter(one => PLAIN_TEXT.test(one) && isFixed(one)).map(one => needle('value', one, true)),
  ]
}
