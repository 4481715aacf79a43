// What is known of two numbers. A space asks for it hundreds of millions of times, so that a text for each pair, which a
// map would be asked by, is what most of the time would go into.
import { NotComputedYet } from './compute-on-demand.ts'

/** More than any interner has. */
const NUMBER_MAX = 2 ** 26

/** One number for two. */
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

  /** @throws Missing when it is not known, and has to be found. */
  find(first: number, second: number, find: () => Promise<Value>): Value {
    const values = this.#values[first]
    const known = values?.get(second)
    if (known !== undefined || values?.has(second) === true) return known as Value
    throw new NotComputedYet(async () => void this.set(first, second, await find()))
  }
}
