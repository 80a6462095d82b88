/**
 * Bounds the memory that several readers hold at a time. Who asks for more than is free waits for its turn, in order; who
 * asks for more than the whole gets it when nothing else is held. Small amounts pass at once and are not counted.
 */
export class ByteBudget {
  readonly #totalBytes: number
  readonly #freeOfChargeBytes: number
  readonly #waiting: { bytes: number; onTurn: () => void }[] = []
  #heldBytes = 0

  constructor(totalBytes: number, freeOfChargeBytes = 0) {
    this.#totalBytes = totalBytes
    this.#freeOfChargeBytes = freeOfChargeBytes
  }

  /** Resolves with the function that gives the bytes back. */
  async take(bytes: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (bytes <= this.#freeOfChargeBytes) return () => undefined
    if (this.#waiting.length > 0 || !this.#fits(bytes)) await this.#turn(bytes, signal)
    else this.#heldBytes += bytes
    let isHeld = true
    return () => {
      if (isHeld) this.#giveBack(bytes)
      isHeld = false
    }
  }

  #fits(bytes: number): boolean {
    return this.#heldBytes === 0 || this.#heldBytes + bytes <= this.#totalBytes
  }

  #giveBack(bytes: number): void {
    this.#heldBytes -= bytes
    this.#admit()
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#heldBytes += next.bytes
      next.onTurn()
    }
  }

  #turn(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onTurn = () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      const waiter = { bytes, onTurn }
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        reject(signal.reason)
        // Those behind it may fit now.
        this.#admit()
      }
      this.#waiting.push(waiter)
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }
}
