// Map from pairs of numbers to values. Exploring a space reads it hundreds of millions of times;
// string keys would take most of the time.
import { NotComputedYet } from './compute-on-demand.ts'

/** More numbers than any interner assigns. */
const NUMBER_MAX = 2 ** 26

/** One number for a pair of numbers. */
export const pairKey = (first: number, second: number): number => first * NUMBER_MAX + second

export class PairMap<Value> {
  readonly #values: Map<number, Value>[] = []

  set(first: number, second: number, value: Value): Value {
    const values = (this.#values[first] ??= new Map<number, Value>())
    values.set(second, value)
    return value
  }

  get(first: number, second: number): Value | undefined {
    return this.#values[first]?.get(second)
  }

  /** @throws NotComputedYet when the value must be computed first. */
  find(first: number, second: number, find: () => Promise<Value>): Value {
    const values = this.#values[first]
    const cached = values?.get(second)
    if (cached !== undefined || values?.has(second) === true) return cached as Value
    throw new NotComputedYet(async () => void this.set(first, second, await find()))
  }
}
