import { problemOf } from '../archive/damage.ts'
import { indexRefsOf, readIndex } from '../archive/indexes.ts'
import { manifestKey } from '../archive/layout.ts'
import type { Manifest } from '../archive/manifest.ts'
import { sectionObjectsOf } from '../archive/named-objects.ts'
import type { Problem } from '../archive/verify-objects.ts'
import { hasCode, reasonOf } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import { commitManifest, readSourceManifest, renewTargetCopies } from './copy-manifest.ts'
import { checkObject, copyObject } from './copy-object.ts'
import type { CopyPlan, PlannedObject, Sides } from './sides.ts'

interface CopyResult {
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

/** Copies or checks objects without committing anything. Damage is recorded, and the rest continues. */
export async function copyObjects(
  sides: Sides,
  objects: readonly PlannedObject[],
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<{ objects: PlannedObject[]; problems: Problem[] }> {
  const meter = new Meter(objects, onProgress)
  const done = await runPool(objects, CONCURRENCY, async object => {
    const problem = await settle(sides, object, bytes => meter.add(bytes, object), signal)
    meter.finish(object, problem !== undefined)
    return { object, problem }
  })
  return {
    objects: done.filter(one => !one.problem && one.object.action === 'copy').map(one => one.object),
    problems: done.flatMap(one => (one.problem ? [one.problem] : [])),
  }
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

/**
 * Commits generations one after the other, each as soon as all objects that it and those before it are the first to name
 * are settled. One that names a damaged object is left out.
 */
class CommitQueue {
  readonly committed: number[] = []
  readonly problems: Problem[] = []
  readonly #sides: Sides
  readonly #plan: CopyPlan
  readonly #onProgress: OnProgress
  readonly #failed = new Set<string>()
  /** Objects that are not settled yet, by generation. */
  readonly #left: Map<number, number>
  #next = 0
  #isAdvancing = false

  constructor(sides: Sides, plan: CopyPlan, onProgress: OnProgress) {
    this.#sides = sides
    this.#plan = plan
    this.#onProgress = onProgress
    this.#left = new Map(plan.generations.map(({ generation }) => [generation, 0]))
    for (const { neededBy } of plan.objects) this.#count(neededBy, 1)
  }

  /** An object is at the target, or cannot be. */
  async settle({ key, neededBy }: PlannedObject, problem: Problem | undefined, signal: AbortSignal): Promise<void> {
    if (problem) {
      this.#failed.add(key)
      this.problems.push(problem)
    }
    this.#count(neededBy, -1)
    await this.advance(signal)
  }

  async advance(signal: AbortSignal): Promise<void> {
    // The running loop checks the queue again after each commit.
    if (this.#isAdvancing) return
    this.#isAdvancing = true
    try {
      for (let next = this.#ready(); next; next = this.#ready()) {
        this.#next++
        if (!next.isDamaged) await this.#commit(next.generation, signal)
      }
    } finally {
      this.#isAdvancing = false
    }
  }

  #ready(): CopyPlan['generations'][number] | undefined {
    const next = this.#plan.generations[this.#next]
    return next && this.#left.get(next.generation) === 0 ? next : undefined
  }

  async #commit(generation: number, signal: AbortSignal): Promise<void> {
    try {
      const read = await readSourceManifest(this.#sides, this.#plan.backupId, generation, signal)
      if (this.#failed.size > 0 && (await this.#namesFailed(read.manifest, signal))) return
      await commitManifest(this.#sides, read, signal)
      this.committed.push(generation)
      this.#onProgress({ type: 'committed', generation, complete: read.manifest.complete })
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
      const key = manifestKey(this.#plan.backupId, generation)
      this.problems.push({ key, problem: problemOf(error, key) })
    }
  }

  async #namesFailed(manifest: Manifest, signal: AbortSignal): Promise<boolean> {
    for (const { key } of sectionObjectsOf(manifest)) if (this.#failed.has(key)) return true
    for (const ref of indexRefsOf(manifest)) {
      const { segments } = await readIndex(this.#sides.source, ref, signal)
      if (segments.some(({ key }) => this.#failed.has(key))) return true
    }
    return false
  }

  #count(generation: number | undefined, change: number): void {
    if (generation !== undefined) this.#left.set(generation, (this.#left.get(generation) ?? 0) + change)
  }
}
