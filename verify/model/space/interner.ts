// Maps equal values to one small number, by which they are stored and compared.

export class Interner<Value> {
  readonly #ids = new Map<string, number>()
  readonly #values: Value[] = []

  idOf(value: Value): number {
    const text = JSON.stringify(value)
    const known = this.#ids.get(text)
    if (known !== undefined) return known
    this.#ids.set(text, this.#values.length)
    return this.#values.push(value) - 1
  }

  valueOf(id: number): Value {
    if (id < 0 || id >= this.#values.length) throw new Error(`no value has the number ${id}`)
    return this.#values[id] as Value
  }

  get size(): number {
    return this.#values.length
  }
}
