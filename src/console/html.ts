/**
 * Markup that is safe to send. Only `html` creates it, and it escapes every text that is put in, so that a page cannot forget to:
 * a plain string is never markup.
 */
export class Html {
  readonly #text: string

  /** Use `html`. */
  constructor(pieces: TemplateStringsArray, values: readonly Part[]) {
    this.#text = pieces.map((piece, at) => (at === 0 ? piece : markup(values[at - 1]) + piece)).join('')
  }

  toString(): string {
    return this.#text
  }
}

/** What may stand in a template. Nothing is shown for false, null and undefined. */
export type Part = Html | string | number | bigint | false | null | undefined | readonly Part[]

/** Texts become text, or the value of an attribute in double quotes; other places in a template must hold markup only. */
export function html(pieces: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(pieces, values)
}

export const nothing = html``

function markup(part: Part): string {
  if (part === false || part === null || part === undefined) return ''
  if (part instanceof Html) return part.toString()
  if (Array.isArray(part)) return part.map(markup).join('')
  return escapeText(String(part))
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Longer than anything that a page is meant to show at once: to escape a hostile text of megabytes takes seconds, and no other request has its turn. */
export const MAX_TEXT_CHARS = 256 << 10

function escapeText(text: string): string {
  const shown = text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}…` : text
  return showHidden(shown).replace(/[&<>"']/g, character => entities[character] ?? '')
}

/** Control characters, and those that reverse the order of a line, are shown as their codes: a name could fake another one. */
function showHidden(text: string): string {
  return text
    .toWellFormed()
    .replace(/[[\p{Cc}\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff]--[\n\t]]/gv, showCode)
}

function showCode(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
}
