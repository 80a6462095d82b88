import assert from 'node:assert/strict'
import { KafkaBackupError } from '../../src/errors.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import type { StorageOperation } from '../../src/storage/observed.ts'
import type { ObjectWriter, Storage } from '../../src/storage/storage.ts'

/**
 * What goes wrong. `throw-after` and `kill-after` strike when the call has taken effect and its reply is lost; in a
 * listing, after its first item. An error of `() => new KafkaBackupError('STORAGE_UNAVAILABLE', …)` is the default.
 */
export type FaultEffect =
  | { kind: 'throw-before' | 'throw-after'; error?: () => unknown }
  | { kind: 'kill-before' | 'kill-after' }
  | { kind: 'truncate-read'; toBytes: number }
  | { kind: 'flip-bit'; bit: number }
  | { kind: 'delay'; ms: number }

export interface Fault {
  /** The operations it waits for; every one that the effect fits where it is not given. */
  on?: StorageOperation | readonly StorageOperation[]
  key?: RegExp
  /** Strikes at the nth call that matches, from 1. Without `nth` and `probability` it strikes at each. */
  nth?: number
  /** Strikes at a matching call with this chance, by the seeded random. */
  probability?: number
  effect: FaultEffect
}

export interface FaultyParts {
  seed?: number
  clock?: Clock
  kill?: () => void
}

export interface FaultyStorage extends Storage {
  /** Every call so far, those of writers too, in the order they were made. */
  readonly calls: readonly { operation: StorageOperation; key: string }[]
  /** Throws where a fault of the script has never struck: such a test proves nothing. */
  verifyAllFaultsExercised(): void
}

/** A storage that fails by script. Several faults may strike at one call, in the order of the script. */
export function withFaults(storage: Storage, faults: readonly Fault[], parts: FaultyParts = {}): FaultyStorage {
  const script = createScript(faults, parts)
  const call = async <T>(operation: StorageOperation, key: string, work: () => Promise<T>): Promise<T> => {
    const effects = script.strike(operation, key)
    await script.before(effects)
    const result = await work()
    await script.after(effects, operation, key)
    return Buffer.isBuffer(result) ? (damage(result, effects) as T) : result
  }
  const items = async function* <T>(operation: StorageOperation, prefix: string, open: () => AsyncIterable<T>) {
    const effects = script.strike(operation, prefix)
    await script.before(effects)
    let count = 0
    for await (const item of open()) {
      if (count++ === 1) await script.after(effects, operation, prefix)
      yield item
    }
    if (count < 2) await script.after(effects, operation, prefix)
  }

  return {
    location: storage.location,
    writerBytes: storage.writerBytes,
    calls: script.calls,
    verifyAllFaultsExercised: script.verify,
    create: (key, body, signal) => call('create', key, () => storage.create(key, body, signal)),
    replace: (key, body, signal) => call('replace', key, () => storage.replace(key, body, signal)),
    openWriter: async (key, signal) =>
      withWriterFaults(await call('openWriter', key, () => storage.openWriter(key, signal)), key, call),
    read: (key, signal) => call('read', key, () => storage.read(key, signal)),
    readRange: (key, start, length, signal) =>
      call('readRange', key, () => storage.readRange(key, start, length, signal)),
    stat: (key, signal) => call('stat', key, () => storage.stat(key, signal)),
    list: (prefix, signal) => items('list', prefix, () => storage.list(prefix, signal)),
    listFolders: (prefix, signal) => items('listFolders', prefix, () => storage.listFolders(prefix, signal)),
    remove: (key, signal) => call('remove', key, () => storage.remove(key, signal)),
    close: () => storage.close(),
  }
}

function withWriterFaults(
  writer: ObjectWriter,
  key: string,
  call: (operation: StorageOperation, key: string, work: () => Promise<void>) => Promise<void>,
): ObjectWriter {
  return {
    write: (chunks, signal) => call('write', key, () => writer.write(chunks, signal)),
    commit: signal => call('commit', key, () => writer.commit(signal)),
    abort: () => call('abort', key, () => writer.abort()),
  }
}

function createScript(faults: readonly Fault[], parts: FaultyParts) {
  const { clock = systemClock, kill = killSelf } = parts
  const random = createRandom(parts.seed ?? 1)
  const calls: { operation: StorageOperation; key: string }[] = []
  const states = faults.map(fault => ({ fault, matched: 0, struck: 0 }))

  const strike = (operation: StorageOperation, key: string): FaultEffect[] => {
    calls.push({ operation, key })
    const effects: FaultEffect[] = []
    for (const state of states) {
      if (!matches(state.fault, operation, key)) continue
      state.matched++
      if (state.fault.nth !== undefined && state.fault.nth !== state.matched) continue
      if (state.fault.probability !== undefined && random() >= state.fault.probability) continue
      state.struck++
      effects.push(state.fault.effect)
    }
    return effects
  }

  const before = async (effects: readonly FaultEffect[]): Promise<void> => {
    for (const effect of effects) {
      if (effect.kind === 'delay') await clock.sleep(effect.ms)
      if (effect.kind === 'kill-before') kill()
      if (effect.kind === 'throw-before') throw effect.error?.() ?? transientError('before it was made')
    }
  }

  const after = async (effects: readonly FaultEffect[], operation: StorageOperation, key: string): Promise<void> => {
    for (const effect of effects) {
      if (effect.kind === 'kill-after') kill()
      if (effect.kind === 'throw-after') {
        throw effect.error?.() ?? transientError(`after ${operation} of ${JSON.stringify(key)} took effect`)
      }
    }
  }

  const verify = () => {
    const idle = states.filter(state => state.struck === 0).map(state => describeFault(state.fault))
    assert.deepEqual(idle, [], 'these faults of the script never struck')
  }

  return { calls, strike, before, after, verify }
}

/** An abort never fails by its contract, and only reads have bytes to damage. */
function matches(fault: Fault, operation: StorageOperation, key: string): boolean {
  const { kind } = fault.effect
  if (operation === 'abort' && kind.startsWith('throw')) return false
  if ((kind === 'truncate-read' || kind === 'flip-bit') && operation !== 'read' && operation !== 'readRange')
    return false
  if (fault.on !== undefined && ![fault.on].flat().includes(operation)) return false
  return fault.key === undefined || key.search(fault.key) >= 0
}

function damage(body: Buffer, effects: readonly FaultEffect[]): Buffer {
  let result = body
  for (const effect of effects) {
    if (effect.kind === 'truncate-read') result = result.subarray(0, effect.toBytes)
    if (effect.kind === 'flip-bit' && result.length > 0) {
      const at = (effect.bit >> 3) % result.length
      result[at] = (result[at] ?? 0) ^ (1 << (effect.bit & 7))
    }
  }
  return result
}

function describeFault(fault: Fault): string {
  const on = fault.on === undefined ? 'any call' : [fault.on].flat().join('|')
  return `${fault.effect.kind} on ${on}${fault.key ? ` of ${fault.key}` : ''}${fault.nth ? ` no. ${fault.nth}` : ''}`
}

function transientError(when: string): KafkaBackupError {
  return new KafkaBackupError('STORAGE_UNAVAILABLE', `the connection broke ${when} (scripted fault)`)
}

function killSelf(): void {
  process.kill(process.pid, 'SIGKILL')
}

/** mulberry32: small, and the same numbers for the same seed everywhere. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
