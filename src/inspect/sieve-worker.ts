import { parentPort, workerData } from 'node:worker_threads'
import { readHeader } from '../batch/header.ts'
import { type Needle, Sieve, type Verdict } from './sieve.ts'

/** Some batches, and where they begin in the memory, which does not change before the answer. */
export interface SiftTask {
  task: number
  memory: SharedArrayBuffer
  positions: readonly number[]
}

export interface SiftAnswer {
  task: number
  verdicts: readonly (Verdict | undefined)[]
}

const sieve = new Sieve(workerData as readonly Needle[])

parentPort?.on('message', ({ task, memory, positions }: SiftTask) => {
  const bytes = Buffer.from(memory)
  const verdicts = positions.map(position => sieve.siftBatch(bytes, readHeader(bytes, position)))
  parentPort?.postMessage({ task, verdicts } satisfies SiftAnswer)
})
