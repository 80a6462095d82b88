import type { Lab } from './lab.ts'

/** How often to inject, and the seed that all chance comes from. */
export interface FaultOptions {
  rounds: number
  seed: number
}

/** What one fault did to the program. */
export interface Outcome {
  /** Faults that struck; a run in which none did proves nothing. */
  injected: number
  /** What must not happen, counted: all of them are 0 where the promise holds. */
  broken: Record<string, number>
  /** What happened besides, for people. */
  seen: Record<string, number>
}

export interface FaultResult extends Outcome, FaultOptions {
  name: string
  durationMs: number
}

/** A promise of docs/reliability.md with the experiment that tries to break it. */
export interface Fault {
  name: string
  /** What is done to the program, and what holds all the same. */
  inject: string
  promise: string
  /** Rounds of `make test`, and of ten minutes of `make soak`. */
  rounds: { test: number; soak: number }
  /** Where it makes sense for one kind of store only. */
  only?: 'filesystem'
  run(lab: Lab, options: FaultOptions): Promise<Outcome>
}

export const defaultSeed = 20_260_915

export function seedOf(env: NodeJS.ProcessEnv): number {
  return env.FAULT_SEED === undefined ? defaultSeed : Number(env.FAULT_SEED)
}

/** Runs a fault and leaves one line of JSON, from which a failure can be repeated. */
export async function measureFault(fault: Fault, lab: Lab, options: FaultOptions): Promise<FaultResult> {
  const startedAt = performance.now()
  const outcome = await fault.run(lab, options)
  const durationMs = Math.round(performance.now() - startedAt)
  const result = { name: fault.name, ...options, ...outcome, durationMs }
  process.stdout.write(`${JSON.stringify(result)}\n`)
  return result
}

/** The counts that are not 0, as text; empty where the promise held. */
export function brokenPromises({ injected, broken }: Outcome): string[] {
  const counts = Object.entries(broken).filter(([, count]) => count !== 0)
  return [...(injected === 0 ? ['no fault struck'] : []), ...counts.map(([what, count]) => `${what}: ${count}`)]
}

/** Adds up outcomes of the same shape. */
export class Count {
  injected = 0
  readonly broken: Record<string, number>
  readonly seen: Record<string, number> = {}

  constructor(...broken: string[]) {
    this.broken = Object.fromEntries(broken.map(name => [name, 0]))
  }

  add(counts: Record<string, number>): void {
    for (const [name, count] of Object.entries(counts)) this.broken[name] = (this.broken[name] ?? 0) + count
  }

  saw(name: string, times = 1): void {
    this.seen[name] = (this.seen[name] ?? 0) + times
  }

  get outcome(): Outcome {
    const { injected, broken, seen } = this
    return { injected, broken, seen }
  }
}
