import { parentPort } from 'node:worker_threads'
import { type Needle, Sieve } from './sieve.ts'

/** The first message: what every batch is searched for. */
export interface SiftStart {
  needles: readonly Needle[]
}

/** Some batches, and where they begin in the memory, which does not change before the answer. */
export interface SiftTask {
  task: number
  memory: SharedArrayBuffer
  positions: readonly number[]
}

export interface SiftAnswer {
  task: number
  /** Packed. */
  verdicts: readonly number[]
}

let sieve = new Sieve([])

parentPort?.on('message', (message: SiftStart | SiftTask) => {
  if ('needles' in message) {
    sieve = new Sieve(message.needles)
    return
  }
  const { task, memory, positions } = message
  parentPort?.postMessage({ task, verdicts: sieve.siftAll(Buffer.from(memory), positions) } satisfies SiftAnswer)
})
