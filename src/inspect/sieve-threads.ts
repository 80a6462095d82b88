import type { Worker } from 'node:worker_threads'
import { batchSizeAt } from '../batch/header.ts'
import { shareMemory } from '../lib/recycled-memory.ts'
import { type Needle, Sieve } from './sieve.ts'
import type { SiftAnswer, SiftStart, SiftTask } from './sieve-worker.ts'
import { SieveWorkers, usualThreads } from './sieve-workers.ts'
import { noVerdicts, VerdictList } from './verdicts.ts'

/** Starting threads takes longer than searching this much. */
const SMALL_BYTES = 16 << 20
/** Larger memory is not kept for the next task. */
const MAX_KEPT_BYTES = 8 << 20
const MEMORY_STEP_BYTES = 1 << 20
/** What is read at once. Between two such pieces there is a small one: the batch that is in both. */
const TASK_BYTES = 4 << 20
/** One that a thread works on, and two for it to continue with while the caller waits for a processor. */
const TASKS_PER_THREAD = 3

/** Says of batches whether records of them may be wanted: ahead, while the caller works with others. */
export interface Sifting {
  /** So many calls under way, or so many bytes in them, keep it busy. */
  readonly width: number
  readonly busyBytes: number
  /** On the batches at these positions. One without a verdict has to be opened in the usual way. It never fails. */
  sift(bytes: Buffer, positions: readonly number[]): Promise<VerdictList>
  /** Ends the threads. Calls under way end without verdicts. */
  close(): void
}

/** With a thread for each processor, if there are several and the batches have enough bytes: those of `workers`, if they were started before. */
export function openSifting(
  needles: readonly Needle[],
  totalBytes: number,
  threads = usualThreads,
  workers?: SieveWorkers,
): Sifting {
  const sieve = new Sieve(needles)
  if (threads > 1 && totalBytes > SMALL_BYTES) {
    const early = workers?.take() ?? []
    const started = early.length > 0 ? early : new SieveWorkers(threads).take()
    if (started.length > 0) return new SieveThreads(needles, sieve, started)
  }
  return {
    width: 1,
    busyBytes: TASK_BYTES,
    sift: async (bytes, positions) => siftHere(sieve, bytes, positions),
    close: () => undefined,
  }
}

function siftHere(sieve: Sieve, bytes: Buffer, positions: readonly number[]): VerdictList {
  return new VerdictList(sieve.siftAll(bytes, positions), positions.length)
}

interface Waiting {
  count: number
  bytes: number
  /** Used again after the answer. */
  copy: SharedArrayBuffer | undefined
  thread: Thread
  resolve(verdicts: VerdictList): void
}

interface Thread {
  worker: Worker
  /** Of the tasks that it has not answered. */
  bytes: number
  hasEnded: boolean
}

/**
 * Each has a decoder and memory for one batch. The thread of the caller sifts nothing while one of them runs: it would keep them
 * waiting for what only it can read.
 */
class SieveThreads implements Sifting {
  readonly width: number
  readonly busyBytes: number
  readonly #own: Sieve
  readonly #threads: readonly Thread[]
  readonly #waiting = new Map<number, Waiting>()
  /** Not in use at the moment. It is shared, because the collectors of both threads would count what is sent to and fro. */
  #memory: readonly SharedArrayBuffer[] = []
  #tasks = 0
  readonly #endSharing = shareMemory()
  #isClosed = false

  constructor(needles: readonly Needle[], own: Sieve, workers: readonly Worker[]) {
    this.width = 2 * TASKS_PER_THREAD * workers.length
    this.busyBytes = TASKS_PER_THREAD * workers.length * TASK_BYTES
    this.#own = own
    this.#threads = workers.map(worker => this.#begin(worker, needles))
  }

  async sift(bytes: Buffer, positions: readonly number[]): Promise<VerdictList> {
    const [thread] = this.#threads.filter(({ hasEnded }) => !hasEnded).toSorted((a, b) => a.bytes - b.bytes)
    const [first, last] = [positions[0], positions.at(-1)]
    if (this.#isClosed || first === undefined || last === undefined) return noVerdicts
    if (!thread) return siftHere(this.#own, bytes, positions)
    const end = last + (batchSizeAt(bytes, last, bytes.length) ?? 0)
    const size = end - first
    const { memory, copy, shift } = this.#share(bytes, first, end)
    const shifted = shift === 0 ? positions : positions.map(position => position + shift)
    const task: SiftTask = { task: this.#tasks++, memory, positions: shifted }
    const { promise, resolve } = Promise.withResolvers<VerdictList>()
    this.#waiting.set(task.task, { count: positions.length, bytes: size, copy, thread, resolve })
    if (thread.bytes === 0) thread.worker.ref()
    thread.bytes += size
    thread.worker.postMessage(task)
    return promise
  }

  close(): void {
    this.#isClosed = true
    this.#endSharing()
    for (const thread of this.#threads) {
      this.#end(thread)
      void thread.worker.terminate()
    }
  }

  #begin(worker: Worker, needles: readonly Needle[]): Thread {
    const thread: Thread = { worker, bytes: 0, hasEnded: worker.threadId < 0 }
    worker.on('message', (answer: SiftAnswer) => this.#settle(answer))
    worker.on('error', () => this.#end(thread))
    worker.on('exit', () => this.#end(thread))
    worker.postMessage({ needles } satisfies SiftStart)
    return thread
  }

  #settle({ task, verdicts }: SiftAnswer): void {
    const waiting = this.#waiting.get(task)
    this.#waiting.delete(task)
    if (!waiting) return
    const { copy } = waiting
    if (copy && copy.byteLength <= MAX_KEPT_BYTES) this.#memory = [...this.#memory, copy]
    waiting.thread.bytes -= waiting.bytes
    if (waiting.thread.bytes === 0) waiting.thread.worker.unref()
    waiting.resolve(new VerdictList(verdicts, waiting.count))
  }

  /** What waits for the thread gets no verdicts: the caller then opens the batches, which is slower and finds the same. */
  #end(thread: Thread): void {
    thread.hasEnded = true
    for (const [task, { thread: own, resolve }] of this.#waiting) {
      if (own !== thread) continue
      this.#waiting.delete(task)
      resolve(noVerdicts)
    }
  }

  /** Only what was not read into shared memory is copied: the batch between two pieces, and what was decrypted or compressed. */
  #share(
    bytes: Buffer,
    start: number,
    end: number,
  ): { memory: SharedArrayBuffer; copy?: SharedArrayBuffer; shift: number } {
    if (bytes.buffer instanceof SharedArrayBuffer) return { memory: bytes.buffer, shift: bytes.byteOffset }
    const copy = this.#takeMemory(end - start)
    bytes.copy(new Uint8Array(copy), 0, start, end)
    return { memory: copy, copy, shift: -start }
  }

  #takeMemory(bytes: number): SharedArrayBuffer {
    const [known] = this.#memory.filter(one => one.byteLength >= bytes).toSorted((a, b) => a.byteLength - b.byteLength)
    if (known) {
      this.#memory = this.#memory.filter(one => one !== known)
      return known
    }
    return new SharedArrayBuffer(Math.ceil(bytes / MEMORY_STEP_BYTES) * MEMORY_STEP_BYTES)
  }
}
