// Generates reproducible random numbers: a test with random input fails the same way every time.

/** Returns a generator of integers from 0 to `below - 1` (mulberry32). The seed determines them. */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** Returns `length` random characters of an alphabet. */
export function randomText(
  random: (below: number) => number,
  length: number,
  alphabet: string,
): string {
  return Array.from({ length }, () => alphabet.charAt(random(alphabet.length))).join('')
}
