// Resolves the names in an expression: first in the joined rows of the query, then in the outer
// queries.
import type { Row, Value } from '../store/rows.ts'
import { UnknownSqlError } from './syntax.ts'

/** A row under the alias of its source; null where an outer join found no row. */
export interface Binding {
  readonly as: string
  readonly columns: readonly string[]
  readonly row: Row | null
}

export class Scope {
  readonly bindings: readonly Binding[]
  readonly #outer: Scope | undefined
  /** For an aggregate: the rows of the group. */
  readonly group: readonly Scope[] | undefined

  constructor(bindings: readonly Binding[], outer?: Scope, group?: readonly Scope[]) {
    this.bindings = bindings
    this.#outer = outer
    this.group = group
  }

  with(binding: Binding): Scope {
    return new Scope([...this.bindings, binding], this.#outer, this.group)
  }

  /** The same scope with another row under this alias. */
  replacing(as: string, row: Row): Scope {
    const bindings = this.bindings.map((binding) =>
      binding.as === as ? { ...binding, row } : binding,
    )
    return new Scope(bindings, this.#outer, this.group)
  }

  bindingOf(as: string): Binding | undefined {
    return this.bindings.find((binding) => binding.as === as) ?? this.#outer?.bindingOf(as)
  }

  /** @throws UnknownSqlError when there is no such column. */
  value(of: string | undefined, name: string): Value {
    if (of === undefined) return this.#unqualified(name)
    const binding = this.bindingOf(of)
    if (binding === undefined || !binding.columns.includes(name)) {
      throw new UnknownSqlError(`unknown column ${of}.${name}`)
    }
    return binding.row?.[name] ?? null
  }

  #unqualified(name: string): Value {
    const binding = this.bindings.find(({ columns }) => columns.includes(name))
    if (binding !== undefined) return binding.row?.[name] ?? null
    if (this.#outer === undefined) throw new UnknownSqlError(`unknown column ${name}`)
    return this.#outer.#unqualified(name)
  }
}
