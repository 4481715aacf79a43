// Lets synchronous code use values that only an asynchronous computation can supply: it throws
// `NotComputedYet`, and is run again after the computation.

export class NotComputedYet extends Error {
  override name = 'Missing'
  readonly compute: () => Promise<void>

  constructor(find: () => Promise<void>) {
    super('not computed yet')
    this.compute = find
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
