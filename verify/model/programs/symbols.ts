// Replaces the ids that a run generates by symbols, numbered in the order of their first use. So
// two runs with the same answers send the same requests.
import { isObject, type Value } from '../store/rows.ts'

export const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Prefix of the symbols for ids that a program generated. */
export const GENERATED_ID_PREFIX = '0f000000-0000-7000-8000-'
/** Prefix of all other ids in the model. */
export const MODEL_ID_PREFIX = '0a000000-0000-7000-80'

/** The nil UUID, which sorts before all ids. */
export const NIL_ID = '00000000-0000-0000-0000-000000000000'

/** The symbol with this number. */
export const symbolOf = (number: number): string =>
  GENERATED_ID_PREFIX + String(number).padStart(12, '0')

export class Symbols {
  readonly #symbolOf = new Map<string, string>()
  readonly #idOf = new Map<string, string>()

  toModel(value: Value): Value {
    return mapTexts(value, (text) => text.replaceAll(UUID, (id) => this.#symbol(id)))
  }

  fromModel(value: Value): Value {
    return mapTexts(value, (text) => text.replaceAll(UUID, (id) => this.#idOf.get(id) ?? id))
  }

  #symbol(id: string): string {
    if (id.startsWith(MODEL_ID_PREFIX) || id.startsWith(GENERATED_ID_PREFIX) || id === NIL_ID)
      return id
    const existing = this.#symbolOf.get(id)
    if (existing !== undefined) return existing
    const symbol = symbolOf(this.#symbolOf.size + 1)
    this.#symbolOf.set(id, symbol)
    this.#idOf.set(symbol, id)
    return symbol
  }
}

/** Applies `map` to every string in the value, at any depth. */
export function mapTexts(value: Value, map: (text: string) => string): Value {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((part: Value) => mapTexts(part, map))
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([name, part]) => [name, mapTexts(part, map)])
  return Object.fromEntries(entries) as Value
}
