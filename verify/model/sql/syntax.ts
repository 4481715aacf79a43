// The syntax tree of the part of SQL that the product's statements use.
import type { LockMode, Value } from '../store/rows.ts'

/** The model does not support this part of SQL. A new statement of the product uses it. */
export class UnknownSqlError extends Error {
  override name = 'UnknownSqlError'
}

export type Expression =
  | { readonly kind: 'constant'; readonly value: Value }
  | { readonly kind: 'parameter'; readonly index: number }
  | { readonly kind: 'column'; readonly of: string | undefined; readonly name: string }
  | { readonly kind: 'call'; readonly name: string; readonly parts: readonly Expression[] }
  | {
      readonly kind: 'operation'
      readonly operator: string
      readonly left: Expression
      readonly right: Expression
    }
  | { readonly kind: 'not'; readonly part: Expression }
  | { readonly kind: 'is_null'; readonly part: Expression }
  | { readonly kind: 'is_distinct'; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'in_list'; readonly part: Expression; readonly list: readonly Expression[] }
  | { readonly kind: 'in_query'; readonly part: Expression; readonly query: Query }
  | { readonly kind: 'is_any'; readonly left: Expression; readonly array: Expression }
  | { readonly kind: 'row'; readonly parts: readonly Expression[] }
  | { readonly kind: 'array'; readonly parts: readonly Expression[] }
  | { readonly kind: 'scalar'; readonly query: Query }
  | { readonly kind: 'exists'; readonly query: Query }
  | {
      readonly kind: 'case'
      readonly subject: Expression | undefined
      readonly branches: readonly { readonly when: Expression; readonly value: Expression }[]
      readonly otherwise: Expression | undefined
    }
  | { readonly kind: 'cast'; readonly part: Expression; readonly to: string }

/** `star`: all columns, of one source or of all sources. */
export type Item =
  | { readonly star: true; readonly of: string | undefined }
  | { readonly star?: undefined; readonly expression: Expression; readonly as: string }

export interface ColumnDefinition {
  readonly name: string
  /** Undefined for an alias. */
  readonly type: string | undefined
}

export interface Source {
  readonly join: 'inner' | 'left'
  readonly on: Expression | undefined
  readonly as: string
  /** The columns, if the statement specifies them. */
  readonly columns: readonly ColumnDefinition[] | undefined
  readonly from:
    | { readonly kind: 'table'; readonly name: string }
    | { readonly kind: 'query'; readonly query: Query }
    | { readonly kind: 'call'; readonly name: string; readonly parts: readonly Expression[] }
}

export interface Select {
  readonly kind: 'select'
  readonly items: readonly Item[]
  readonly from: readonly Source[]
  readonly where: Expression | undefined
  readonly groupBy: readonly Expression[]
  readonly orderBy: readonly { readonly by: Expression; readonly descending: boolean }[]
  readonly limit: Expression | undefined
  /** How it locks the rows of its source. */
  readonly locks: LockMode | undefined
}

export interface Assignment {
  readonly column: string
  readonly to: Expression
}

export interface Insert {
  readonly kind: 'insert'
  readonly into: string
  readonly columns: readonly string[]
  /** A query, or values. */
  readonly rows: Select | readonly (readonly Expression[])[]
  readonly conflict:
    | {
        /** Undefined: those of any unique index. */
        readonly columns: readonly string[] | undefined
        /** Undefined: `do nothing`. */
        readonly set: readonly Assignment[] | undefined
        readonly where: Expression | undefined
      }
    | undefined
  readonly returning: readonly Item[] | undefined
}

export interface Update {
  readonly kind: 'update'
  readonly table: string
  readonly as: string
  readonly set: readonly Assignment[]
  readonly from: readonly Source[]
  readonly where: Expression | undefined
  readonly returning: readonly Item[] | undefined
}

export interface Delete {
  readonly kind: 'delete'
  readonly table: string
  readonly as: string
  readonly from: readonly Source[]
  readonly where: Expression | undefined
  readonly returning: readonly Item[] | undefined
}

export interface Query {
  readonly ctes: readonly { readonly name: string; readonly query: Query }[]
  readonly body: Select
}

export interface Statement extends Pick<Query, 'ctes'> {
  readonly body: Select | Insert | Update | Delete
}
