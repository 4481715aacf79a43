// Something that has to be found out first, by running a program: whoever comes upon it begins again when it is known.

export class NotComputedYet extends Error {
  override name = 'Missing'
  readonly compute: () => Promise<void>

  constructor(find: () => Promise<void>) {
    super('is not known yet')
    this.compute = find
  }
}

/** What the work comes to when nothing that it needs is missing any more. */
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
