// Gathers the provider's answers: holds each back until all have come, and passes them on together.
// The operations then go on at the same moment, and share transactions.

/** Shorter than the timeout of a call, also on top of the time that the call takes. */
const GATHERING_LIMIT_MS = 150

export class Gathering {
  readonly #size: number
  #waiting: (() => void)[] = []
  #limit: NodeJS.Timeout | undefined

  /** @param size how many answers are passed on together. */
  constructor(size: number) {
    this.#size = size
  }

  /** Resolves when enough others have come, or when the first one has waited for too long. */
  async arrive(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve)
      if (this.#waiting.length === this.#size) return this.release()
      this.#limit ??= setTimeout(() => this.release(), GATHERING_LIMIT_MS)
    })
  }

  release(): void {
    clearTimeout(this.#limit)
    this.#limit = undefined
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
