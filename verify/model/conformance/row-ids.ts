// Translates between the symbols in a program's requests and the ids of the rows in a store.
import { parseStatement } from '../sql/parse-statement.ts'
import { toText, type Row, type Value } from '../store/rows.ts'
import {
  GENERATED_ID_PREFIX,
  mapTexts,
  MODEL_ID_PREFIX,
  NIL_ID,
  symbolOf,
  UUID,
} from '../programs/symbols.ts'

/** The symbols of ids that the store generates begin here; no program generates as many. */
const STORE_IDS_FROM = 900_000_000_000

export class RowIds {
  readonly #idOf = new Map<string, string>()
  readonly #symbolOf = new Map<string, string>()
  readonly #prefix: string

  /** @param serial unique within a history, so that no two programs generate the same ids. */
  constructor(serial: number) {
    this.#prefix = GENERATED_ID_PREFIX + String(serial).padStart(9, '0')
  }

  /** A parameter as the store gets it. */
  toStore(value: Value): Value {
    return mapTexts(value, (text) => text.replaceAll(UUID, (id) => this.#id(id)))
  }

  /**
   * The rows of a statement as the program gets them. Without `order by`, PostgreSQL returns them in an
   * order that depends on its plan, and the model in the order of their ids.
   */
  rowsFrom(text: string, rows: readonly object[]): readonly Row[] {
    const own = rows.map((row) => {
      const entries = Object.entries(row).map(([name, value]) => [name, this.#toProgram(value)])
      return Object.fromEntries(entries) as Row
    })
    if (own.length < 2) return own
    const { body } = parseStatement(text)
    if (body.kind === 'select' && body.orderBy.length > 0) return own
    return own.toSorted((one, other) => nameOfRow(one).localeCompare(nameOfRow(other)))
  }

  #toProgram(value: unknown): Value {
    if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
    return mapTexts(value as Value, (text) => text.replaceAll(UUID, (id) => this.#symbol(id)))
  }

  #id(symbol: string): string {
    const known = this.#idOf.get(symbol)
    if (known !== undefined || !symbol.startsWith(GENERATED_ID_PREFIX)) return known ?? symbol
    return this.#add(symbol, this.#prefix + symbol.slice(-3))
  }

  /** An id that the store generated gets a symbol, too: the program may send it again. */
  #symbol(id: string): string {
    const known = this.#symbolOf.get(id)
    const isOfModel = [MODEL_ID_PREFIX, GENERATED_ID_PREFIX, NIL_ID].some((prefix) =>
      id.startsWith(prefix),
    )
    if (known !== undefined || isOfModel) return known ?? id
    const symbol = symbolOf(STORE_IDS_FROM + this.#idOf.size)
    this.#add(symbol, id)
    return symbol
  }

  #add(symbol: string, id: string): string {
    this.#idOf.set(symbol, id)
    this.#symbolOf.set(id, symbol)
    return id
  }
}

/** Its id, or what begins with the id of the resource that it is. */
const nameOfRow = (row: Row): string => toText(row['id'] ?? row)
