/** Bytes of an object. */
export interface ObjectRange {
  key: string
  start: number
  length: number
}

/** Who can read a range of an object, as `Storage` can. */
export interface RangeReader {
  readRange(key: string, start: number, length: number, signal: AbortSignal): Promise<Buffer>
}

/** Small ranges are limited by their number: each is a request that waits for its response. */
const MAX_REQUESTS = 16

/** Limits the requests of several readers together that are under way before they are needed: each takes a socket. */
export class RequestLimit {
  readonly #max: number
  #underWay = 0

  constructor(max: number) {
    this.#max = max
  }

  get isReached(): boolean {
    return this.#underWay >= this.#max
  }

  /** Counts the request until its response has arrived. */
  count<T>(request: Promise<T>): void {
    this.#underWay++
    const end = () => {
      this.#underWay--
    }
    request.then(end, end)
  }
}

/**
 * Reads announced ranges before they are asked for, as many as `maxBytes` allow in addition to the one in use: a store that is
 * far away takes as long for one request as for several at the same time. The caller asks for the ranges in the order in
 * which it has announced them; others are read when they are asked for. A failure is thrown when the range is asked for.
 */
export class RangesAhead implements RangeReader {
  readonly #storage: RangeReader
  readonly #ranges: Iterator<ObjectRange>
  readonly #maxBytes: number
  readonly #limit: RequestLimit | undefined
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  readonly #requested: { range: ObjectRange; bytes: Promise<Buffer> }[] = []
  #requestedBytes = 0
  #next: ObjectRange | undefined

  constructor(
    storage: RangeReader,
    ranges: Iterable<ObjectRange>,
    { maxBytes, limit }: { maxBytes: number; limit?: RequestLimit },
    signal: AbortSignal,
  ) {
    this.#storage = storage
    this.#ranges = ranges[Symbol.iterator]()
    this.#maxBytes = maxBytes
    this.#limit = limit
    this.#signal = AbortSignal.any([signal, this.#stop.signal])
    this.#advance()
  }

  async readRange(key: string, start: number, length: number, signal: AbortSignal): Promise<Buffer> {
    const asked = { key, start, length }
    const [first] = this.#requested
    let bytes: Promise<Buffer>
    if (first && isSame(first.range, asked)) {
      this.#requested.shift()
      this.#requestedBytes -= length
      bytes = first.bytes
    } else {
      if (!first && this.#next && isSame(this.#next, asked)) this.#advance()
      bytes = this.#storage.readRange(key, start, length, signal)
    }
    this.#request()
    return bytes
  }

  /** Ends the requests that were not asked for. */
  async close(): Promise<void> {
    this.#next = undefined
    this.#stop.abort()
    await Promise.allSettled(this.#requested.map(({ bytes }) => bytes))
  }

  #request(): void {
    for (let next = this.#next; next && this.#hasRoom(next); next = this.#next) {
      const bytes = this.#storage.readRange(next.key, next.start, next.length, this.#signal)
      // Handled when it is asked for; until then it must not count as unhandled.
      bytes.catch(() => undefined)
      this.#limit?.count(bytes)
      this.#requested.push({ range: next, bytes })
      this.#requestedBytes += next.length
      this.#advance()
    }
  }

  #hasRoom({ length }: ObjectRange): boolean {
    if (this.#limit?.isReached) return false
    return this.#requestedBytes + length <= this.#maxBytes && this.#requested.length < MAX_REQUESTS
  }

  #advance(): void {
    const { value, done } = this.#ranges.next()
    this.#next = done ? undefined : value
  }
}

function isSame(one: ObjectRange, other: ObjectRange): boolean {
  return one.key === other.key && one.start === other.start && one.length === other.length
}
