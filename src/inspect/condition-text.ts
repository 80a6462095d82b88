import { formatJson } from '../lib/json.ts'

/** `unclear` where the text of a value is too long to be searched completely. */
export type Answer = 'yes' | 'no' | 'unclear'

/** About the longest string there is. A value of nine bytes may be longer, because every item of a list repeats the names of its fields. */
export const MAX_SEARCHED_CHARS = 1 << 29

/** Values that are no longer are formatted as one string, which is faster. */
const MAX_WHOLE_CHARS = 1 << 20
/** So much text is in memory while a longer one is searched. */
const WINDOW_CHARS = 1 << 16

/** Whether a text is in what `formatJson` returns for a value. */
export function findInJson(value: unknown, text: string, maxChars = MAX_SEARCHED_CHARS): Answer {
  if (charsLeft(value, Math.min(maxChars, MAX_WHOLE_CHARS)) >= 0) return formatJson(value).includes(text) ? 'yes' : 'no'
  const search = new WindowSearch(text, maxChars)
  search.addValue(value)
  return search.end()
}

/** Whether `formatJson` would return more than so many characters, without keeping them. */
export function isLongJson(value: unknown, maxChars: number): boolean {
  if (charsLeft(value, maxChars) >= 0) return false
  // JSON on one line has no line break.
  const search = new WindowSearch('\n', maxChars)
  search.addValue(value)
  return search.end() === 'unclear'
}

/** Digits of a bigint that was read from JSON, at most. */
const BIGINT_CHARS = 1000
const SCALAR_CHARS = 25
/** A control character is written as `\u0000`. */
const ESCAPED_CHARS = 6

/** How many of so many characters are left behind the JSON of a value, at least; below zero where it may not fit. */
function charsLeft(value: unknown, chars: number): number {
  if (typeof value === 'string') return chars - ESCAPED_CHARS * value.length - 3
  if (typeof value === 'bigint') return chars - BIGINT_CHARS
  if (typeof value !== 'object' || value === null) return chars - SCALAR_CHARS
  if (JSON.isRawJSON(value)) return chars - value.rawJSON.length - 1
  let left = chars - 2
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at++) left = charsLeft(value[at], left - 1)
    return left
  }
  for (const name of Object.keys(value)) {
    if (left < 0) return left
    left = charsLeft((value as Record<string, unknown>)[name], left - ESCAPED_CHARS * name.length - 4)
  }
  return left
}

/** Searches JSON while it is written, and keeps the end of it only. */
class WindowSearch {
  readonly #text: string
  readonly #maxChars: number
  readonly #windowChars: number
  #window = ''
  #searched = 0
  #answer: Answer | undefined

  constructor(text: string, maxChars: number) {
    this.#text = text
    this.#maxChars = maxChars
    this.#windowChars = Math.max(WINDOW_CHARS, 2 * text.length)
  }

  /** Writes no more than is needed for the answer. */
  addValue(value: unknown): void {
    if (typeof value === 'string') this.#addString(value)
    else if (typeof value === 'object' && value !== null && !JSON.isRawJSON(value)) this.#addNode(value)
    else this.#add(formatJson(value ?? null))
  }

  end(): Answer {
    return this.#answer ?? (this.#window.includes(this.#text) ? 'yes' : 'no')
  }

  #addNode(value: object): void {
    const isList = Array.isArray(value)
    let before = isList ? '[' : '{'
    for (const name of isList ? value.keys() : Object.keys(value)) {
      if (this.#answer) return
      const item = (value as Record<string | number, unknown>)[name]
      if (item === undefined && !isList) continue
      this.#add(isList ? before : `${before}${JSON.stringify(name)}:`)
      this.addValue(item)
      before = ','
    }
    this.#add(before === ',' ? (isList ? ']' : '}') : isList ? '[]' : '{}')
  }

  #addString(text: string): void {
    this.#add('"')
    for (let at = 0; at < text.length && !this.#answer; ) {
      const end = at + WINDOW_CHARS
      // The halves of a pair alone would be escaped.
      const isSplit = (text.codePointAt(end - 1) ?? 0) > 0xffff
      const piece = text.slice(at, isSplit ? end - 1 : end)
      this.#add(JSON.stringify(piece).slice(1, -1))
      at += piece.length
    }
    this.#add('"')
  }

  #add(piece: string): void {
    if (this.#answer) return
    this.#window += piece
    if (this.#window.length < this.#windowChars) return
    this.#searched += this.#window.length
    if (this.#window.includes(this.#text)) this.#answer = 'yes'
    else if (this.#searched > this.#maxChars) this.#answer = 'unclear'
    else this.#window = this.#text.length > 1 ? this.#window.slice(1 - this.#text.length) : ''
    // What is kept is searched again, and counted then.
    if (!this.#answer) this.#searched -= this.#window.length
  }
}
