import { KafkaBackupError } from '../../src/errors.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import type { Target } from './target.ts'

export interface Finding {
  target: string
  /** Give it to `runInput` to see the same again. */
  seed: number
  what: string
}

/** No input may take longer: a reader that does hangs for all a user can tell. */
export const MAX_INPUT_MS = 5_000
/** What may be left of all inputs of a reader, in memory. */
export const MAX_GROWTH_BYTES = 300 << 20

/** How many inputs a reader gets where one of full weight gets so many. */
export function inputsOf({ weight = 10 }: Target, inputs: number): number {
  return Math.ceil((inputs * weight) / 10)
}

/** Runs `count` inputs of a target, from `seed` on. */
export async function fuzz(target: Target, seed: number, count: number): Promise<Finding[]> {
  const findings: Finding[] = []
  for (let i = 0; i < count && findings.length < 5; i++) {
    const what = await runInput(target, seed + i)
    if (what !== undefined) findings.push({ target: target.name, seed: seed + i, what })
  }
  return findings
}

/** What is wrong with how the target takes the input; undefined where it is read, or refused with a documented error. */
export async function runInput({ codes, run }: Target, seed: number): Promise<string | undefined> {
  const startedMs = performance.now()
  try {
    await run(createRandom(seed))
  } catch (error) {
    if (!(error instanceof KafkaBackupError))
      return error instanceof Error ? (error.stack ?? error.message) : String(error)
    if (!codes.includes(error.code)) return `${error.code}: ${error.message}`
  }
  const tookMs = performance.now() - startedMs
  return tookMs > MAX_INPUT_MS ? `it took ${Math.round(tookMs)} ms` : undefined
}
