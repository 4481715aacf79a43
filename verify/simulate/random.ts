// Seeded random numbers: the same seed gives the same sequence.

export const SEED_MAX = 2 ** 32 - 1

export type Random = ReturnType<typeof seededRandom>

/** Mulberry32: small, fast and good enough to draw traffic. */
export function seededRandom(seed: number) {
  let state = seed
  /** An integer from 0 to `limit - 1`. */
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
  return {
    below,
    /** Returns true with this probability in percent. */
    percent: (share: number): boolean => below(100) < share,
    pick<Choice>(choices: readonly Choice[]): Choice {
      const choice = choices[below(choices.length)]
      if (choice === undefined) throw new Error('there are no choices')
      return choice
    },
  }
}
