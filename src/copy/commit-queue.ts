import { readIndex } from '../archive/catalog.ts'
import { problemOf } from '../archive/damage.ts'
import { manifestKey } from '../archive/layout.ts'
import type { Manifest } from '../archive/manifest.ts'
import { indexRefsOf, sectionObjectsOf } from '../archive/named-objects.ts'
import type { Problem } from '../archive/verify-objects.ts'
import { hasCode } from '../errors.ts'
import type { OnProgress } from '../observe/progress.ts'
import { commitManifest, readSourceManifest } from './copy-manifest.ts'
import type { CopyPlan, PlannedObject, Sides } from './sides.ts'

/**
 * Commits generations one after the other, each as soon as all objects that it and those before it are the first to name
 * are settled. One that names a damaged object is left out.
 */
export class CommitQueue {
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
