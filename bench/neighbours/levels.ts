// Lists how loud each noise is, step by step.

/** By default and in a quick run. 0 is silence: the neighbour alone. */
export const LEVELS = {
  backlog: { usual: [0, 100, 1_000, 10_000], quick: [0, 100, 1_000] },
  hanging: { usual: [0, 5, 20], quick: [0, 20] },
  guesses: { usual: [0, 100, 1_000], quick: [0, 1_000] },
} as const

export type NoiseName = keyof typeof LEVELS
