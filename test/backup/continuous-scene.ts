import assert from 'node:assert/strict'
import type { Manifest } from '../../src/archive/manifest.ts'
import type { BackupOptions } from '../../src/backup/backup-options.ts'
import type { BackupParts } from '../../src/backup/round.ts'
import { runContinuous } from '../../src/backup/run-continuous.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type FakeState, type FakeTopic, fakePartition, startFakeCluster } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { plainOptions } from './plain-options.ts'

export const never = new AbortController().signal
export const stopped = new Error('stopped by the test')

export const fixed = plainOptions({ continuous: true })

export interface Scene {
  topics: FakeTopic[]
  storage: Storage
  options?: Partial<BackupOptions>
  /** What happens while the run waits for its 2nd, 3rd, … round; after the last it is stopped. */
  between: ((state: FakeState, clock: RoundClock) => void | Promise<void>)[]
  afterRound?: (newest: Manifest) => Promise<Manifest>
  /** What reads schemas, groups and access rules. */
  readers?: Pick<BackupParts, 'readRegistry' | 'readGroups' | 'readAccess'>
  /** Names of runs begin with it. */
  name?: string
  parts?: Partial<BackupParts>
}

/** Runs until the script is over; everything it told, and the error it ended with. */
export async function play({
  topics,
  storage,
  options,
  between,
  afterRound,
  readers,
  name = 'run',
  parts: own = {},
}: Scene): Promise<{ events: ProgressEvent[]; error: unknown }> {
  const fake = await startFakeCluster(topics)
  const events: ProgressEvent[] = []
  const controller = new AbortController()
  const clock = new RoundClock(async () => {
    const next = between.shift()
    if (next) await next(fake.state, clock)
    else controller.abort(stopped)
  })
  let runs = 0
  try {
    const parts = {
      cluster: await fake.open(),
      storage,
      clock,
      newRun: () => `${name}${++runs}`,
      toolVersion: '0',
      ...(afterRound && { afterRound }),
      ...readers,
      ...own,
      onProgress: (event: ProgressEvent) => {
        events.push(event)
        if (event.type === 'idle' || (event.type === 'round' && !event.ok)) clock.isIdle = true
      },
    }
    return {
      events,
      error: await runContinuous({ ...fixed, ...options }, parts, controller.signal).catch(error => error),
    }
  } finally {
    await fake.close()
  }
}

/** Time passes only between rounds; commits within a round are never due. */
export class RoundClock extends JumpingClock {
  isIdle = false
  /** How far the clock on the wall was set forward. */
  setMs = 0
  readonly #onIdle: () => Promise<void>

  constructor(onIdle: () => Promise<void>) {
    super()
    this.#onIdle = onIdle
  }

  override readonly now = (): number => this.monotonic() + this.setMs

  override readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (!this.isIdle && ms >= 60_000) {
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    }
    if (this.isIdle) await this.#onIdle()
    this.isIdle = false
    this.pass(ms)
    signal?.throwIfAborted()
    await new Promise(resolve => setImmediate(resolve))
  }
}

/** Batches of ten records, from the given one on. */
export const runs = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => encodeRun(BigInt((from + i) * 10), 10))

export function append(state: FakeState, topic: number, batches: Buffer[]): void {
  const partition = state.topics[topic]?.partitions[0] ?? assert.fail('there is no partition')
  const grown = fakePartition([...partition.batches, ...batches])
  Object.assign(partition, { batches: grown.batches, highWatermark: grown.highWatermark, lastStable: grown.lastStable })
}
