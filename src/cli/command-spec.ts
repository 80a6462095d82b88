import type { Operand } from './operands.ts'
import type { OptionSpec } from './option-specs.ts'

/** After an interruption of what only reads. */
export const NOTHING_CHANGED = 'Nothing was changed; run the same command again.'

export interface CommandSpec {
  name: string
  /** One line, for the list of commands and for completion. */
  summary: string
  description: string
  argument?: {
    name: 'shell' | 'action'
    choices: readonly string[]
    description: string
    /** Taken where it is not given; without it, it has to be. */
    fallback?: string
  }
  /** After the `argument`. */
  operands?: readonly Operand[]
  options: readonly OptionSpec[]
  examples: readonly { command: string; meaning: string }[]
  /** Exit codes other than 0 for success, 1 for failure and 2 for a wrong command line. */
  exits?: string
  /** The state after an interruption; defaults to the help of the error table. */
  onInterrupt?: string
  /** Actions that change nothing. */
  readOnlyActions?: readonly string[]
  /** Stops immediately after a signal; other commands finish their current work first. */
  stopsAtOnce?: true
  /** A long-running service: it logs events, by default as JSON. */
  isService?: true
}

/** `<action>`, or `[action]` where it has a default, as help and documentation show it. */
export function formatArgument({ name, fallback }: NonNullable<CommandSpec['argument']>): string {
  return fallback === undefined ? `<${name}>` : `[${name}]`
}

/** `<a|b>`, or `[a|b]` where it has a default. */
export function formatChoices({ choices, fallback }: NonNullable<CommandSpec['argument']>): string {
  return fallback === undefined ? `<${choices.join('|')}>` : `[${choices.join('|')}]`
}
