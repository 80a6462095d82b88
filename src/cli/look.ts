import { styleText } from 'node:util'
import type { Output } from './io.ts'

/** How text may look on an output: colours, characters beyond ASCII, and the width it has to fit. */
export interface Look {
  hasColor: boolean
  hasUnicode: boolean
  /** Undefined where it is no terminal: then nothing is cut. */
  columns: number | undefined
  bold(text: string): string
  dim(text: string): string
  good(text: string): string
  bad(text: string): string
  warn(text: string): string
}

export function lookOf(output: Output, env: Readonly<Record<string, string | undefined>>): Look {
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

/** `NO_COLOR` wins over `FORCE_COLOR`, which wins over what the output is. */
function wantsColor(output: Output, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.NO_COLOR) return false
  const force = env.FORCE_COLOR
  if (force !== undefined) return !['', '0', 'false'].includes(force)
  return output.isTTY === true && env.TERM !== 'dumb'
}
