import { KafkaBackupError } from '../errors.ts'
import type { Io, StopSignal } from './io.ts'

const codes = { SIGINT: 'INTERRUPTED', SIGTERM: 'TERMINATED' } as const
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const

/** One press can arrive twice, from the terminal and from a parent such as npx that passes it on. */
const SAME_PRESS_MS = 250

export interface Interrupts extends Disposable {
  /** Aborted by the first signal, with an INTERRUPTED or TERMINATED error as its reason. */
  signal: AbortSignal
}

export interface InterruptParts {
  say(text: string): void
  /** Called before the process is ended. */
  leave(exitCode: number): void
  /** What an interruption leaves behind; the error table's words where it is undefined. */
  onInterrupt: string | undefined
  /** The command has nothing to finish. */
  stopsAtOnce: boolean
}

/** The first signal asks the work to end in order, the second ends the process. */
export function watchInterrupts(io: Io, { say, leave, onInterrupt, stopsAtOnce }: InterruptParts): Interrupts {
  const controller = new AbortController()
  let firstMs: number | undefined
  const stop = io.onSignal((name: StopSignal) => {
    const nowMs = io.clock.monotonic()
    if (firstMs === undefined) {
      firstMs = nowMs
      say(stopsAtOnce ? 'stopping' : 'finishing what is in hand; press again to stop at once')
      const help = onInterrupt === undefined ? {} : { help: onInterrupt }
      controller.abort(new KafkaBackupError(codes[name], `interrupted by ${name}`, help))
    } else if (nowMs - firstMs >= SAME_PRESS_MS) {
      leave(exitCodes[name])
      io.exit(exitCodes[name])
    }
  })
  return { signal: controller.signal, [Symbol.dispose]: stop }
}
