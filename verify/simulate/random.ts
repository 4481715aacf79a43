// Chance that repeats: one seed, one run of numbers.

export interface Random {
  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number
  /** Whether something happens that happens so many times in a hundred. */
  percent(share: number): boolean
  pick<Choice>(choices: readonly Choice[]): Choice
}

export const SEED_MAX = 2 ** 32 - 1

/** Mulberry32: small, fast, and good enough for traffic. */
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
      if (choice === undefined) throw new Error('there is nothing to choose from')
      return choice
    },
  }
}
