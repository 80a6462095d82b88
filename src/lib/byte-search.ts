/**
 * `find-bytes.wat`, assembled with `wat2wasm src/lib/find-bytes.wat --output=- | base64 -w0` of wabt; its test compares them. It passes
 * 64 places at a time, and only searches memory that it owns.
 */
export const FIND_BYTES =
  'AGFzbQEAAAABCQFgBH9/f38BfwIPAQNlbnYGbWVtb3J5AgABAwIBAAcIAQRmaW5kAAAKwwIBwAICAnsGfyADQQFrIQogAi0AAP0PIQQgAiAKai0AAP0P' +
  'IQUgASADayEHAkADQCAAIAdKDQEgACAKaiELAkADQCAAQTBqIAdKDQEgAP0ABAAgBP0jIAv9AAQAIAX9I/1OIAD9AAQQIAT9IyAL/QAEECAF/SP9Tv1Q' +
  'IAD9AAQgIAT9IyAL/QAEICAF/SP9TiAA/QAEMCAE/SMgC/0ABDAgBf0j/U79UP1Q/VMNASAAQcAAaiEAIAtBwABqIQsMAAsLIAD9AAQAIAT9IyAAIApq' +
  '/QAEACAF/SP9Tv1kIQYCQANAIAZFDQEgACAGaGohCCAGIAZBAWtxIQYgCCAHSg0DQQEhCQJAA0AgCSAKTgRAIAgPCyAIIAlqLQAAIAIgCWotAABHDQEg' +
  'CUEBaiEJDAALCwwACwsgAEEQaiEADAALC0F/Cw=='

const PAGE_BYTES = 64 << 10
/** In the first page; the bytes that are searched begin behind it. */
const MAX_NEEDLE_BYTES = PAGE_BYTES

/** By `find-bytes.wat`. */
const MAX_READ_BEYOND = 32

type Find = (start: number, end: number, needle: number, length: number) => number

interface Memory {
  buffer: ArrayBuffer
  grow(pages: number): number
}

/** The part of the runtime's WebAssembly that is used. Its types are those of browsers. */
interface Wasm {
  Memory: new (limits: { initial: number }) => Memory
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports: object) => { exports: { find: Find } }
}

/** Searches bytes for a few needles, which do not change. Fastest in memory that it has allocated. */
export class ByteSearch {
  readonly #needles: readonly Buffer[]
  /** Created with the first memory; null where the processor or the runtime does not support it. */
  #engine: { memory: Memory; find: Find; starts: readonly number[] } | null | undefined

  constructor(needles: readonly Buffer[]) {
    this.#needles = needles
  }

  /** Memory with any contents. What an earlier call has returned must not be used any more. */
  allocate(bytes: number): Buffer {
    if (this.#engine === undefined) this.#engine = this.#start()
    if (!this.#engine) return Buffer.allocUnsafeSlow(bytes)
    const { memory } = this.#engine
    // The last steps read a little beyond the end.
    const missing = PAGE_BYTES + bytes + MAX_READ_BEYOND - memory.buffer.byteLength
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES))
    return Buffer.from(memory.buffer, PAGE_BYTES, bytes)
  }

  /** Whether the bytes contain the needle with this number. */
  has(bytes: Buffer, number: number): boolean {
    const needle = this.#needles[number]
    const start = this.#engine?.starts[number]
    if (!needle) return false
    if (!this.#engine || start === undefined || bytes.buffer !== this.#engine.memory.buffer)
      return bytes.includes(needle)
    return this.#engine.find(bytes.byteOffset, bytes.byteOffset + bytes.length, start, needle.length) >= 0
  }

  #start(): { memory: Memory; find: Find; starts: number[] } | null {
    const lengths = this.#needles.map(one => one.length)
    const starts = lengths.map((_, at) => lengths.slice(0, at).reduce((sum, one) => sum + one, 0))
    if (lengths.includes(0) || lengths.reduce((sum, one) => sum + one, 0) > MAX_NEEDLE_BYTES) return null
    try {
      const { Memory, Module, Instance } = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly
      const memory = new Memory({ initial: 1 })
      const { find } = new Instance(new Module(Buffer.from(FIND_BYTES, 'base64')), { env: { memory } }).exports
      Buffer.concat(this.#needles).copy(new Uint8Array(memory.buffer))
      return { memory, find, starts }
    } catch {
      return null
    }
  }
}
