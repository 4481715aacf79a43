// Seeded random numbers: the same seed gives the same sequence.

export interface Random {
  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number
  /** Returns true with this probability in percent. */
  percent(share: number): boolean
  pick<Choice>(choices: readonly Choice[]): Choice
}

export const SEED_MAX = 2 ** 32 - 1

/** Mulberry32: small, fast and good enough to draw traffic. */
export function seededRandom(seed: number): Random {
  let state = seed
  const below = (limit: number) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
  return {
    below,
    percent: (share) => below(100) < share,
    pick(choices) {
      const choice = choices[below(choices.length)]
      if (choice === undefined) throw new Error('there are no choices')
      return choice
    },
  }
}
