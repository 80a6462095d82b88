declare global {
  interface JSON {
    /** ES2026; known to the engine, not yet to the type library. */
    rawJSON(text: string): unknown
    isRawJSON(value: unknown): value is { readonly rawJSON: string }
  }
}

/**
 * JSON with whole numbers of any size: offsets and timestamps are 64-bit integers, and a timestamp in nanoseconds does not
 * fit a double. A bigint is written as plain digits; an integer too large for a double is read back as a bigint.
 */
export function formatJson(value: unknown, indent?: number): string {
  return JSON.stringify(withoutBigints(value), undefined, indent)
}

/**
 * What JSON writes as digits instead of a bigint: a function that is called for every value would take several times as long. A program that uses the
 * library may have its own `BigInt.prototype.toJSON`, which writes strings. What has none in it is not copied.
 */
function withoutBigints(value: unknown): unknown {
  if (typeof value === 'bigint') return asJsonNumber(value)
  if (!isNode(value)) return value
  if (Array.isArray(value)) return itemsWithoutBigints(value)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return withoutBigints(toJSON.call(value))
  if (JSON.isRawJSON(value)) return value
  let copy: Record<string, unknown> | undefined
  for (const name of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[name]
    const other = withoutBigints(item)
    if (other === item) continue
    copy ??= { ...value }
    copy[name] = other
  }
  return copy ?? value
}

function itemsWithoutBigints(items: readonly unknown[]): readonly unknown[] {
  let copy: unknown[] | undefined
  for (let i = 0; i < items.length; i++) {
    const other = withoutBigints(items[i])
    if (other === items[i]) continue
    copy ??= [...items]
    copy[i] = other
  }
  return copy ?? items
}

function asJsonNumber(value: bigint): unknown {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(value.toString())
}

/**
 * The beginning of what `formatJson` returns; longer than `maxLength` where that is, but not much. Indents and names can make a text
 * a thousand times as long as the bytes that it was decoded from.
 */
export function formatJsonStart(value: unknown, maxLength: number, indent = 0): string {
  const line = (level: number) => (indent === 0 ? '' : `\n${' '.repeat(indent * level)}`)
  let text = ''
  const write = (item: unknown, level: number): void => {
    if (!isNode(item) || JSON.isRawJSON(item)) {
      const start = typeof item === 'string' ? item.slice(0, maxLength + 1) : item
      text += formatJson(start ?? null)
      return
    }
    const isList = Array.isArray(item)
    let before = isList ? '[' : '{'
    for (const [name, one] of isList ? item.entries() : ownEntries(item)) {
      if (text.length > maxLength) return
      text += `${before}${line(level + 1)}`
      if (!isList) text += `${JSON.stringify(name)}:${indent === 0 ? '' : ' '}`
      write(one, level + 1)
      before = ','
    }
    text += before === ',' ? `${line(level)}${isList ? ']' : '}'}` : isList ? '[]' : '{}'
  }
  write(value, 0)
  return text
}

function* ownEntries(item: object): Generator<[string, unknown]> {
  for (const name of Object.keys(item)) {
    const one = (item as Record<string, unknown>)[name]
    if (one !== undefined) yield [name, one]
  }
}

/** About the length of a piece; shorter documents are one. */
const PIECE_LENGTH = 1 << 16

/** What `formatJson` with an indent returns, in pieces: of a long list in an object, one item at a time is text in memory. */
export function* formatJsonPieces(value: unknown, indent = 2): Generator<string> {
  let piece = ''
  for (const part of isPlain(value) ? objectParts(value, indent) : [formatJson(value, indent)]) {
    piece += part
    if (piece.length < PIECE_LENGTH) continue
    yield piece
    piece = ''
  }
  yield piece
}

/**
 * What `formatJson` returns, in many texts: one for each item of a list, of the value itself or of an object in it, to this depth. All of a large document as
 * one text would be in memory twice while it is formatted.
 */
export function* formatJsonItems(value: unknown, depth = 3): Generator<string> {
  const isList = Array.isArray(value)
  if (depth === 0 || !(isList || isPlain(value)) || 'toJSON' in value) {
    yield formatJson(value)
    return
  }
  let before = isList ? '[' : '{'
  for (const [name, item] of isList ? value.entries() : ownEntries(value)) {
    yield isList ? before : `${before}${JSON.stringify(name)}:`
    if (isList) yield formatJson(item ?? null)
    else yield* formatJsonItems(item, depth - 1)
    before = ','
  }
  yield before === ',' ? (isList ? ']' : '}') : isList ? '[]' : '{}'
}

function* objectParts(value: object, indent: number): Generator<string> {
  const line = `\n${' '.repeat(indent)}`
  let before = `{${line}`
  for (const [name, item] of Object.entries(value)) {
    if (item === undefined) continue
    yield `${before}${JSON.stringify(name)}: `
    if (Array.isArray(item) && item.length > 0) yield* listParts(item, indent)
    else yield indented(formatJson(item, indent), indent)
    before = `,${line}`
  }
  yield before.startsWith('{') ? '{}' : '\n}'
}

function* listParts(items: readonly unknown[], indent: number): Generator<string> {
  const line = `\n${' '.repeat(2 * indent)}`
  let before = `[${line}`
  for (const item of items) {
    yield `${before}${indented(formatJson(item ?? null, indent), 2 * indent)}`
    before = `,${line}`
  }
  yield `\n${' '.repeat(indent)}]`
}

/** In JSON, no string has a line break. */
function indented(text: string, by: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(by)}`)
}

function isPlain(value: unknown): value is object {
  return isNode(value) && Object.getPrototypeOf(value) === Object.prototype
}

/** A number that may not fit a double. Strings may look like one; then the document is read the slow way. */
const longNumber = /(?:^|[[,:])\s*-?\d{16}/

/** Longer numbers are in no document that this program writes, and to make a bigint of millions of digits takes minutes. */
const MAX_DIGITS = 1000

/** A whole number of more than `MAX_DIGITS` is read as a double, which no field for an offset accepts. */
export function parseJson(text: string): unknown {
  if (!longNumber.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, item: unknown, context?: { source?: string }) => {
    if (typeof item !== 'number' || Number.isSafeInteger(item)) return item
    const source = context?.source ?? ''
    return source.length <= MAX_DIGITS && /^-?\d+$/.test(source) ? BigInt(source) : item
  })
}

/** As a fraction: of a whole number, some readers drop the sign. */
export const negativeZero = JSON.rawJSON('-0.0')

/** A number that a double may not hold to its last digit, or that JSON would write without its sign, with the caveat of `longNumber`. */
const preciseNumber = /(?:^|[[,:])\s*(?:-?(?:[\d.]{16}|[\d.]+[eE])|-0(?:\.0+)?\s*(?:[\]},]|$))/

/** The same, and a fraction that a double would change is kept as it is written: `formatJson` writes these digits, and `doubleOf` has the number. */
export function parseExactJson(text: string): unknown {
  if (!preciseNumber.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, item: unknown, context?: { source?: string }) => {
    const source = context?.source
    if (typeof item !== 'number' || source === undefined) return item
    if (Object.is(item, -0) || source.length > MAX_DIGITS) return JSON.rawJSON(source)
    if (/^-?\d+$/.test(source)) return Number.isSafeInteger(item) ? item : BigInt(source)
    return decimalOf(source) === decimalOf(String(item)) ? item : JSON.rawJSON(source)
  })
}

/** The number of a fraction that was kept as it is written; anything else as it is. */
export function doubleOf(value: unknown): unknown {
  return JSON.isRawJSON(value) ? Number(value.rawJSON) : value
}

/** One text for each number: digits without zeros at their ends, and the power of ten. */
function decimalOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const short = digits.replace(/0+$/, '')
  if (short === '') return whole === '' ? text : '0'
  return `${sign}${short}e${Number(power) - fraction.length + digits.length - short.length}`
}

/** Deeper than anything that people or registries write, and flat enough for every function that calls itself. */
export const MAX_JSON_DEPTH = 200

/** Whether a parsed document has more levels than allowed. It does not call itself: the stack would end before the document. */
export function isTooDeep(value: unknown, maxDepth = MAX_JSON_DEPTH): boolean {
  let level: object[] = isNode(value) ? [value] : []
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === maxDepth) return true
    const next: object[] = []
    // An array of the values for each array would take most of the time: documents of a backup have millions.
    for (const node of level) addNodes(next, Array.isArray(node) ? node : Object.values(node))
    level = next
  }
  return false
}

function addNodes(nodes: object[], items: readonly unknown[]): void {
  for (const item of items) if (isNode(item)) nodes.push(item)
}

function isNode(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/**
 * A scalar of a document from elsewhere as text; empty for anything else. `String()` fails for an object whose `toString` is
 * not a function, and any JSON may hold one.
 */
export function textOf(value: unknown): string {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : ''
}

/** A number, or digits; NaN for anything else. `Number()` fails as `String()` does. */
export function numberOf(value: unknown): number {
  return ['string', 'number', 'bigint'].includes(typeof value) ? Number(value) : Number.NaN
}
