import { KafkaBackupError } from '../errors.ts'
import type { Io, StopSignal } from './io.ts'

const codes = { SIGINT: 'INTERRUPTED', SIGTERM: 'TERMINATED' } as const
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const

/** One key press can arrive twice: from the terminal, and from a parent process such as npx that forwards it. */
const SAME_PRESS_MS = 250

interface Interrupts extends Disposable {
  /** Aborted by the first signal, with an INTERRUPTED or TERMINATED error as its reason. */
  signal: AbortSignal
}

interface InterruptParts {
  say(text: string): void
  /** Called before the process exits. */
  leave(exitCode: number): void
  /** The state after an interruption; defaults to the help of the error table. */
  onInterrupt: string | undefined
  /** The command has no work to finish after a signal. */
  stopsAtOnce: boolean
}

/** The first signal stops the work gracefully, the second exits the process. */
export function watchInterrupts(io: Io, { say, leave, onInterrupt, stopsAtOnce }: InterruptParts): Interrupts {
  const controller = new AbortController()
  let firstMs: number | undefined
  const stop = io.onSignal((name: StopSignal) => {
    const nowMs = io.clock.monotonic()
    if (firstMs === undefined) {
      firstMs = nowMs
      say(stopsAtOnce ? 'stopping' : 'finishing current work; press Ctrl-C again to stop now')
      const help = onInterrupt === undefined ? {} : { help: onInterrupt }
      controller.abort(new KafkaBackupError(codes[name], `interrupted by ${name}`, help))
    } else if (nowMs - firstMs >= SAME_PRESS_MS) {
      leave(exitCodes[name])
      io.exit(exitCodes[name])
    }
  })
  return { signal: controller.signal, [Symbol.dispose]: stop }
}
