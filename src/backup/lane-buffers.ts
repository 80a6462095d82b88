import { BufferPool } from '../kafka/wire/buffer-pool.ts'
import type { LanePlan } from './plan-lanes.ts'

type BufferPlan = Pick<LanePlan, 'buffers' | 'remoteBuffers' | 'bufferBytes'>

/**
 * The memory for answers. A continuous run keeps it from round to round: allocated for each round, it would make the collector search
 * all of the heap in each of them. The collector counts the bytes of buffers, though most of a large buffer is never touched.
 */
export class LaneBuffers {
  #plan: BufferPlan | undefined
  #local: BufferPool | undefined
  /** Apart, because an answer out of remote storage holds its buffer for long. */
  #remote: BufferPool | undefined

  /** All buffers of a pool are free when the round before has ended. */
  open(plan: BufferPlan): { local: BufferPool; remote: () => BufferPool } {
    if (!isSame(plan, this.#plan)) this.forget()
    this.#plan = plan
    const { buffers, remoteBuffers, bufferBytes } = plan
    this.#local ??= new BufferPool(buffers, bufferBytes)
    const remote = () => {
      this.#remote ??= new BufferPool(remoteBuffers, bufferBytes)
      return this.#remote
    }
    return { local: this.#local, remote }
  }

  /** After a round that failed, the next one does not depend on what that one has given back. */
  forget(): void {
    this.#local = undefined
    this.#remote = undefined
  }
}

function isSame(plan: BufferPlan, other: BufferPlan | undefined): boolean {
  const { buffers, remoteBuffers, bufferBytes } = plan
  return other?.buffers === buffers && other.remoteBuffers === remoteBuffers && other.bufferBytes === bufferBytes
}
