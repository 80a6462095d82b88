interface State {
  ms: number
  total: number
  /** The amount and the time so far, of which older parts count less. */
  amount: number
  weightMs: number
  /** When the total last grew. */
  movedMs: number
}

/** What is older than this counts for about a third. */
const FADE_MS = 20_000
const STALL_MS = 30_000
const SAMPLE_MS = 200

/**
 * How fast a total grows, as a mean in which older parts fade: one fast or slow second changes it little, and a steady flow is
 * measured exactly from the start. Unknown before anything has moved, and after half a minute in which nothing did.
 */
export class SmoothRate {
  #state: State

  constructor(total: number, nowMs: number) {
    this.#state = { ms: nowMs, total, amount: 0, weightMs: 0, movedMs: nowMs }
  }

  add(total: number, nowMs: number): void {
    if (nowMs - this.#state.ms >= SAMPLE_MS) this.#state = advance(this.#state, total, nowMs)
  }

  /** Of the total in a millisecond; undefined where it is not known. */
  read(total: number, nowMs: number): number | undefined {
    this.add(total, nowMs)
    const { amount, weightMs, movedMs } = advance(this.#state, total, nowMs)
    return amount > 0 && nowMs - movedMs <= STALL_MS ? amount / weightMs : undefined
  }
}

function advance(state: State, total: number, nowMs: number): State {
  const elapsedMs = Math.max(nowMs - state.ms, 0)
  if (elapsedMs === 0) return state
  const left = Math.exp(-elapsedMs / FADE_MS)
  const weightMs = FADE_MS * (1 - left)
  return {
    ms: nowMs,
    total,
    amount: state.amount * left + ((total - state.total) / elapsedMs) * weightMs,
    weightMs: state.weightMs * left + weightMs,
    movedMs: total > state.total ? nowMs : state.movedMs,
  }
}
