/** What a step has handed to the store, when it is durable there. */
interface Handed<T> {
  durable: Promise<T>
}

interface Step<T> {
  hand: () => Promise<Handed<T>>
  /** Takes what is durable into the state. */
  apply: (result: T) => void
  /** After a failure of an earlier step, or of this one. */
  discard?: () => Promise<void>
}

const settled = Promise.resolve()

/**
 * Steps that end in the durable state of a partition. They are handed to the store one after the other, and take effect one
 * after the other, in the order of their offsets; none does after one that failed. What is handed over may become durable
 * only when the pack is written that holds it.
 */
export class DurableChain {
  #handing: Promise<unknown> = settled
  #applying: Promise<void> = settled
  #unhanded = 0
  #unapplied = 0
  #isCut = false
  /** Of the step that `begin` has added. */
  #isBegun = false
  #begun: PromiseWithResolvers<void> | undefined
  failure: unknown

  /** All steps have taken effect. */
  get isEmpty(): boolean {
    return this.#unapplied === 0
  }

  /** All steps are handed over, and none has failed. */
  get isHanded(): boolean {
    return this.#unhanded === 0 && !this.failure
  }

  /** One step may be handed over in the background, not more. */
  get hasRoom(): boolean {
    return this.#unhanded <= 1 && !this.failure
  }

  async room(): Promise<void> {
    if (this.#unhanded > 1) await this.#handing
    if (this.failure) throw this.failure
  }

  /** Never rejects. */
  handed(): Promise<unknown> {
    return this.#handing
  }

  /** Never rejects. */
  applied(): Promise<void> {
    this.#awaitBegun()
    return this.#applying
  }

  async assertHanded(): Promise<void> {
    await this.handed()
    if (this.failure) throw this.failure
  }

  async assertApplied(): Promise<void> {
    await this.applied()
    if (this.failure) throw this.failure
  }

  /**
   * Adds a step to an empty chain that is handed over already, and takes effect before `end` is called. A round has one for each of thousands of
   * partitions, so it has no promise unless someone waits for it.
   */
  begin(): void {
    this.#isBegun = true
    this.#unapplied++
  }

  /** The step that `begin` has added has taken effect, or has failed. */
  end(failure?: { error: unknown }): void {
    this.#isBegun = false
    this.#unapplied--
    if (failure) {
      this.#isCut = true
      this.failure ??= failure.error
    }
    this.#begun?.resolve()
    this.#begun = undefined
  }

  #awaitBegun(): void {
    if (!this.#isBegun || this.#begun) return
    this.#begun = Promise.withResolvers()
    this.#applying = this.#begun.promise
  }

  add<T>({ hand, apply, discard }: Step<T>): void {
    this.#unhanded++
    this.#unapplied++
    const handed = this.#hand(this.#handing, hand, discard)
    this.#handing = handed
    this.#awaitBegun()
    this.#applying = this.#apply(this.#applying, handed, apply)
  }

  async #hand<T>(
    before: Promise<unknown>,
    hand: Step<T>['hand'],
    discard: Step<T>['discard'],
  ): Promise<Handed<T> | undefined> {
    await before
    try {
      if (this.failure) await discard?.()
      else {
        const handed = await hand()
        // It is awaited when the steps before it have taken effect.
        handed.durable.catch(() => undefined)
        return handed
      }
    } catch (error) {
      this.failure ??= error
      await discard?.()
    } finally {
      this.#unhanded--
    }
    return undefined
  }

  async #apply<T>(
    before: Promise<unknown>,
    handing: Promise<Handed<T> | undefined>,
    apply: Step<T>['apply'],
  ): Promise<void> {
    await before
    const handed = await handing
    try {
      if (!handed || this.#isCut) this.#isCut = true
      else apply(await handed.durable)
    } catch (error) {
      this.#isCut = true
      this.failure ??= error
    } finally {
      this.#unapplied--
    }
  }
}
