import { styleText } from 'node:util'
import type { Output } from './io.ts'

/** The capabilities of an output: colors, non-ASCII characters, and its width. */
export interface OutputStyle {
  hasColor: boolean
  hasUnicode: boolean
  /** Undefined without a terminal: nothing is truncated. */
  columns: number | undefined
  bold(text: string): string
  dim(text: string): string
  good(text: string): string
  bad(text: string): string
  warn(text: string): string
}

export function outputStyleOf(output: Output, env: Readonly<Record<string, string | undefined>>): OutputStyle {
  const hasColor = wantsColor(output, env)
  const paint = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    hasColor && text !== '' ? styleText(format, text, { validateStream: false }) : text
  return {
    hasColor,
    hasUnicode: /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || ''),
    columns: output.isTTY ? (output.columns ?? 80) : undefined,
    bold: paint('bold'),
    dim: paint('dim'),
    good: paint('green'),
    bad: paint(['bold', 'red']),
    warn: paint('yellow'),
  }
}

/** `NO_COLOR` takes precedence over `FORCE_COLOR`, which takes precedence over the kind of output. */
function wantsColor(output: Output, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.NO_COLOR) return false
  const force = env.FORCE_COLOR
  if (force !== undefined) return !['', '0', 'false'].includes(force)
  return output.isTTY === true && env.TERM !== 'dumb'
}
