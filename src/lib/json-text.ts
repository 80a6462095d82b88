/** A part of a text, in bytes. */
export interface TextRange {
  start: number
  end: number
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Reads the value that begins there, and returns where it ends. */
export type ReadValue = (start: number) => number

/**
 * Reads the JSON array that begins there item by item, and returns where it ends. Throws a SyntaxError for a text that is cut off. Of a large document, a
 * caller parses what it needs.
 */
export function readItems(text: Buffer, at: number, readItem: ReadValue): number {
  expect(text, at, OPEN_LIST)
  let next = skipSpace(text, at + 1)
  if (text[next] === CLOSE_LIST) return next + 1
  for (;;) {
    next = skipSpace(text, readItem(next))
    if (text[next] === CLOSE_LIST) return next + 1
    expect(text, next, COMMA)
    next = skipSpace(text, next + 1)
  }
}

/**
 * Where the values of the JSON object are that begins there, by their names. Of two with the same name the last one counts, as for `JSON.parse`. Fields that
 * have a reader are read by it.
 */
export function fieldRanges(
  text: Buffer,
  at = 0,
  readers: ReadonlyMap<string, ReadValue> = new Map(),
): Map<string, TextRange> {
  const fields = new Map<string, TextRange>()
  expect(text, at, OPEN_OBJECT)
  let next = skipSpace(text, at + 1)
  while (text[next] !== CLOSE_OBJECT) {
    const nameEnd = endOfValue(text, next)
    const name = String(JSON.parse(text.toString('utf8', next, nameEnd)))
    const colon = skipSpace(text, nameEnd)
    expect(text, colon, COLON)
    const start = skipSpace(text, colon + 1)
    const end = readers.get(name)?.(start) ?? endOfValue(text, start)
    fields.set(name, { start, end })
    next = skipSpace(text, end)
    if (text[next] === CLOSE_OBJECT) break
    expect(text, next, COMMA)
    next = skipSpace(text, next + 1)
  }
  return fields
}

/** Brackets are counted, not matched: parsing the value finds those that do not fit. */
export function endOfValue(text: Buffer, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const byte = text[at]
    if (byte === QUOTE) at = lastOfString(text, at)
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (depth === 0) return at
      depth--
    } else {
      if (depth === 0 && (byte === COMMA || isSpace(byte))) return at
      continue
    }
    if (depth === 0) return at + 1
  }
  throw cutOff()
}

function lastOfString(text: Buffer, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const byte = text[at]
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at++
  }
  throw cutOff()
}

function expect(text: Buffer, at: number, byte: number): void {
  if (text[at] === byte) return
  throw at < text.length ? new SyntaxError(`byte ${at} is not ${String.fromCharCode(byte)}`) : cutOff()
}

function skipSpace(text: Buffer, from: number): number {
  let at = from
  while (isSpace(text[at])) at++
  return at
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function cutOff(): SyntaxError {
  return new SyntaxError('the text is cut off')
}
