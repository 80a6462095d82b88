/**
 * `find-bytes.wat`, assembled with `wat2wasm src/lib/find-bytes.wat --output=- | base64 -w0` of wabt. It compares 16 places at a time, twice as
 * fast as `Buffer.indexOf`, and only searches memory that it owns.
 */
const FIND_BYTES =
  'AGFzbQEAAAABCQFgBH9/f38BfwIPAQNlbnYGbWVtb3J5AgABAwIBAAcIAQRmaW5kAAAKuAEBtQECAnsFfyADQQFrIQogAi0AAP0PIQQgAiAKai0AAP0PIQUg' +
  'ASADayEHAkADQCAAIAdKDQEgAP0ABAAgBP0jIAAgCmr9AAQAIAX9I/1O/WQhBgJAA0AgBkUNASAAIAZoaiEIIAYgBkEBa3EhBiAIIAdKDQNBASEJAkADQCAJ' +
  'IApOBEAgCA8LIAggCWotAAAgAiAJai0AAEcNASAJQQFqIQkMAAsLDAALCyAAQRBqIQAMAAsLQX8L'

const PAGE_BYTES = 64 << 10
/** In the first page; the bytes that are searched begin behind it. */
const MAX_NEEDLE_BYTES = PAGE_BYTES

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
    // A step reads up to 15 bytes too many.
    const missing = PAGE_BYTES + bytes + 16 - memory.buffer.byteLength
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
