// Something that has to be found out first, by running a program: whoever comes upon it begins again when it is known.

export class Missing extends Error {
  override name = 'Missing'
  readonly find: () => Promise<void>

  constructor(find: () => Promise<void>) {
    super('is not known yet')
    this.find = find
  }
}

/** What the work comes to when nothing that it needs is missing any more. */
export async function withNothingMissing<Found>(work: () => Found): Promise<Found> {
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      await error.find()
    }
  }
}
