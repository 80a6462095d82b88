import type { OptionSpec } from './option-specs.ts'

export interface CommandSpec {
  name: string
  /** One line, for the list of commands and for completion. */
  summary: string
  description: string
  argument?: { name: 'shell' | 'action'; choices: readonly string[]; description: string }
  options: readonly OptionSpec[]
  examples: readonly { command: string; meaning: string }[]
  /** What the process ends with beyond 0 for done, 1 for failed and 2 for a bad command line. */
  exits?: string
  /** What an interruption leaves behind; the error table's words where it is not given. */
  onInterrupt?: string
  /** It ends at once; others finish what is in hand first. */
  stopsAtOnce?: true
  /** It runs for ever beside others: its log has what happens, as JSON where nothing else is asked for. */
  isService?: true
}
