import type { Clock } from '../../lib/clock.ts'
import type { WatchTrouble } from './kind-watch.ts'

/** A call to the API server takes 30 s at most and is repeated a few times; work on one resource is a few calls. */
const MAX_WORK_MS = 10 * 60_000
/** As long as a watch may fail. */
const MAX_ELECTION_FAILING_MS = 60_000
/** The election is tried every few seconds: one that has not failed for this long is well. */
const ELECTION_WELL_MS = 15_000

/** Namespaces that fail while others are served, and kinds that only some resources need, make the process degraded, not unready. */
interface WatchedView {
  readonly namespaces: readonly (string | undefined)[]
  troubles(): WatchTrouble[]
  /** Of kinds that only some resources need. */
  optionalTroubles(): WatchTrouble[]
  ended(): string[]
}

export interface HealthPage {
  isOk: boolean
  body: Record<string, unknown>
}

/** Whether the operator's loops make progress and its watches are in sync. */
export class Health {
  readonly #clock: Clock
  readonly #work = new Map<symbol, { name: string; sinceMs: number }>()
  readonly #loops = new Map<string, { lastMs: number; maxMs: number }>()
  #election: { error: unknown; sinceMs: number; lastMs: number } | undefined
  #watches: WatchedView | undefined
  isLeader = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  watches(watches: WatchedView): void {
    this.#watches = watches
  }

  /** Starts work that has to end; call the returned function at its end. */
  began(name: string): () => void {
    const id = Symbol(name)
    this.#work.set(id, { name, sinceMs: this.#clock.monotonic() })
    return () => this.#work.delete(id)
  }

  /** A loop made a turn; the next one is due within the time. */
  turned(name: string, maxMs: number): void {
    this.#loops.set(name, { lastMs: this.#clock.monotonic(), maxMs })
  }

  /** The loop ended as intended. */
  left(name: string): void {
    this.#loops.delete(name)
  }

  electionFailed(error: unknown): void {
    const nowMs = this.#clock.monotonic()
    const { sinceMs } = this.#failingElection() ?? { sinceMs: nowMs }
    this.#election = { error, sinceMs, lastMs: nowMs }
  }

  live(): HealthPage {
    const nowMs = this.#clock.monotonic()
    const late = [...this.#work.values()].filter(({ sinceMs }) => nowMs - sinceMs > MAX_WORK_MS)
    const still = [...this.#loops].filter(([, { lastMs, maxMs }]) => nowMs - lastMs > maxMs)
    const stuck = [
      ...late.map(({ name, sinceMs }) => `${name} has not ended for ${seconds(nowMs - sinceMs)} s`),
      ...still.map(([name, { lastMs }]) => `${name} has made no progress for ${seconds(nowMs - lastMs)} s`),
      ...(this.#watches?.ended() ?? []).map(watch => `the watch of ${watch} has ended`),
    ]
    return stuck.length === 0 ? ok({}) : { isOk: false, body: { status: 'stuck', stuck } }
  }

  ready(): HealthPage {
    if (this.#watches === undefined) return { isOk: false, body: { status: 'starting' } }
    const { namespaces } = this.#watches
    const troubles = this.#watches.troubles()
    const isPartial = new Set(troubles.map(({ namespace }) => namespace)).size < namespaces.length
    const isDegraded = isPartial && troubles.length > 0 && troubles.every(({ isFailing }) => isFailing === true)
    const waiting = [...(isDegraded ? [] : troubles), ...this.#electionTroubles()].map(shown)
    if (waiting.length > 0) return { isOk: false, body: { status: 'waiting', waiting } }
    const degraded = [...troubles, ...this.#watches.optionalTroubles()].map(shown)
    return ok({ leader: this.isLeader, ...(degraded.length > 0 && { degraded }) })
  }

  /** A replica that could not become leader is not ready. */
  #electionTroubles(): WatchTrouble[] {
    const failing = this.#failingElection()
    if (failing === undefined || this.#clock.monotonic() - failing.sinceMs <= MAX_ELECTION_FAILING_MS) return []
    const { error } = failing
    return [{ watch: 'the lease', reason: error instanceof Error ? error.message : String(error) }]
  }

  #failingElection() {
    const election = this.#election
    return election && this.#clock.monotonic() - election.lastMs <= ELECTION_WELL_MS ? election : undefined
  }
}

function shown({ watch, reason }: WatchTrouble): WatchTrouble {
  return { watch, reason }
}

function ok(more: object): HealthPage {
  return { isOk: true, body: { status: 'ok', ...more } }
}

function seconds(ms: number): number {
  return Math.round(ms / 1000)
}
