// Lets synchronous code use values that only an asynchronous computation can supply: it throws
// `NotComputedYet`, and is run again after the computation.

/** No Error: it is thrown so often that the stack traces would cost a twentieth of the time. */
export class NotComputedYet {
  readonly compute: () => Promise<void>

  constructor(compute: () => Promise<void>) {
    this.compute = compute
  }
}

/** Runs `work`, again after each missing computation, until nothing is missing. */
export async function computeOnDemand<Found>(work: () => Found): Promise<Found> {
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof NotComputedYet)) throw error
      await error.compute()
    }
  }
}
