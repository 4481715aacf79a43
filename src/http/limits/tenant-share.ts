// States how much of a resource of this process one tenant may use: half, so that no tenant takes all
// of it.

/** The share of one tenant, which is one at least, unless there is nothing. */
export function shareOf(all: number): number {
  return Math.ceil(all / 2)
}
