import { type Html, html } from '../html.ts'

/** Longer texts are shown without colors: each word becomes an element. */
const MAX_CHARS = 200_000

type Kind = 'name' | 'string' | 'number' | 'word' | 'comment'

/** A token at the current place, with what it is. What is not closed ends with the text, so that no text takes long. */
type Rule = readonly [pattern: RegExp, kind: Kind]

const jsonRules: readonly Rule[] = [
  [/"[^"\\]*(?:\\.[^"\\]*)*"(?=\s*:)/sy, 'name'],
  [/"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)/sy, 'string'],
  [/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y, 'number'],
  [/\b(?:true|false|null)\b/y, 'word'],
]

const protoRules: readonly Rule[] = [
  [/\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y, 'comment'],
  [
    /"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*(?:"|\\?$|\\?(?=\n))|'[^'\\\n]*(?:\\[^\n][^'\\\n]*)*(?:'|\\?$|\\?(?=\n))/y,
    'string',
  ],
  [
    /\b(?:syntax|package|import|option|message|enum|service|rpc|returns|oneof|map|repeated|optional|required|reserved|extend|extensions|stream|to|max|public|weak)\b/y,
    'word',
  ],
  [
    /\b(?:double|float|int32|int64|uint32|uint64|sint32|sint64|fixed32|fixed64|sfixed32|sfixed64|bool|string|bytes)\b/y,
    'name',
  ],
  [/\b\d+\b/y, 'number'],
]

export function highlightJson(text: string): Html {
  return highlight(text, jsonRules)
}

export function highlightProto(text: string): Html {
  return highlight(text, protoRules)
}

function highlight(text: string, rules: readonly Rule[]): Html {
  if (text.length > MAX_CHARS) return html`${text.match(/.{1,100000}/gs)}`
  const parts: (Html | string)[] = []
  let plainFrom = 0
  for (let at = 0; at < text.length; ) {
    const token = tokenAt(text, at, rules)
    if (!token) {
      at += skipOf(text, at)
      continue
    }
    parts.push(text.slice(plainFrom, at), html`<span class="hl-${token.kind}">${token.text}</span>`)
    at += token.text.length
    plainFrom = at
  }
  return html`${[...parts, text.slice(plainFrom)]}`
}

function tokenAt(text: string, at: number, rules: readonly Rule[]): { text: string; kind: Kind } | undefined {
  for (const [pattern, kind] of rules) {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found && found[0].length > 0) return { text: found[0], kind }
  }
  return undefined
}

/** A word without a color is skipped at once. */
const wordPattern = /\w+/y

function skipOf(text: string, at: number): number {
  wordPattern.lastIndex = at
  return wordPattern.exec(text)?.[0].length ?? 1
}
