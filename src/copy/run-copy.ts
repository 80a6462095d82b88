import { problemOf } from '../archive/damage.ts'
import type { Problem } from '../archive/verify-objects.ts'
import { hasCode, reasonOf } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import { CommitQueue } from './commit-queue.ts'
import { renewTargetCopies } from './copy-manifest.ts'
import { checkObject, copyObject } from './copy-object.ts'
import type { CopyPlan, PlannedObject, Sides } from './sides.ts'

export interface CopyResult {
  generations: number[]
  objects: number
  bytes: number
  problems: Problem[]
}

/** Objects under way at a time: enough to hide the latency of stores, few enough for the memory of a small machine. */
const CONCURRENCY = 8

/** Carries out the plan. Damage is recorded, and the rest continues; any other failure ends the copy, which can be run again. */
export async function runCopy(
  sides: Sides,
  plan: CopyPlan,
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<CopyResult> {
  const stop = new AbortController()
  const scoped = AbortSignal.any([signal, stop.signal])
  const meter = new Meter(plan.objects, onProgress)
  const queue = new CommitQueue(sides, plan, onProgress)
  try {
    await queue.advance(scoped)
    await runPool(plan.objects, CONCURRENCY, async object => {
      try {
        const problem = await settle(sides, object, bytes => meter.add(bytes, object), scoped)
        meter.finish(object, problem !== undefined)
        await queue.settle(object, problem, scoped)
      } catch (error) {
        // The others need not finish their objects.
        stop.abort(error)
        throw error
      }
    })
    const newest = Math.max(plan.newestThere ?? 0, queue.committed.at(-1) ?? 0)
    const warnings = newest > 0 ? await renewTargetCopies(sides.target, plan.backupId, newest, scoped) : []
    for (const message of warnings) onProgress({ type: 'warning', message })
  } catch (error) {
    throw reasonOf(error, signal)
  }
  const { objects, bytes } = meter.copied
  return { generations: queue.committed, objects, bytes, problems: [...plan.problems, ...queue.problems] }
}

async function settle(
  sides: Sides,
  object: PlannedObject,
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Problem | undefined> {
  try {
    if (object.action === 'check') await checkObject(sides.target, object, onBytes, signal)
    else await copyObject(sides, object, onBytes, signal)
    return undefined
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    const { location } = error.details
    const problem = problemOf(error, object.key)
    return { key: object.key, problem: location === undefined ? problem : `at ${location}: ${problem}` }
  }
}

/** Adds up what is done, and tells of it. */
class Meter {
  readonly copied = { objects: 0, bytes: 0 }
  readonly #onProgress: OnProgress
  readonly #total: { totalObjects: number; totalBytes: number }
  #objects = 0
  #bytes = 0

  constructor(objects: readonly PlannedObject[], onProgress: OnProgress) {
    this.#onProgress = onProgress
    const totalBytes = objects.reduce((sum, { size }) => sum + size, 0)
    this.#total = { totalObjects: objects.length, totalBytes }
    this.#tell()
  }

  add(bytes: number, { action }: PlannedObject): void {
    this.#bytes += bytes
    if (action === 'copy') this.copied.bytes += bytes
    this.#tell()
  }

  finish({ action }: PlannedObject, isDamaged: boolean): void {
    this.#objects++
    if (action === 'copy' && !isDamaged) this.copied.objects++
    this.#tell()
  }

  #tell(): void {
    this.#onProgress({ type: 'transferred', objects: this.#objects, bytes: this.#bytes, ...this.#total })
  }
}
