// Parses a statement: select, insert, update or delete, with its common table expressions.
import type { LockMode } from '../store/database.ts'
import { ExpressionReader } from './parse-expression.ts'
import type {
  Assignment,
  ColumnDefinition,
  Delete,
  Expression,
  Insert,
  Item,
  Query,
  Select,
  Source,
  Statement,
  Update,
} from './syntax.ts'
import { Tokens } from './tokens.ts'

/** @throws UnknownSqlError for SQL that the model does not support. */
export function parseStatement(text: string): Statement {
  const tokens = new Tokens(text)
  const statement = new StatementReader(tokens).statement()
  if (tokens.peek().kind !== 'end') throw tokens.unknown('expected the end')
  return statement
}

/** @throws UnknownSqlError for SQL that the model does not support. */
export function parseExpression(text: string): Expression {
  const tokens = new Tokens(text)
  const expression = new ExpressionReader(tokens, readQuery).read()
  if (tokens.peek().kind !== 'end') throw tokens.unknown('expected the end')
  return expression
}

function readQuery(tokens: Tokens): Query {
  return new StatementReader(tokens).query()
}

/** Keywords that can follow an item or a source, and so are not aliases. */
const NOT_ALIASES = new Set(
  'where from on join left cross lateral order group limit for set returning using conflict select as'.split(
    ' ',
  ),
)

class StatementReader {
  readonly #tokens: Tokens
  readonly #expressions: ExpressionReader

  constructor(tokens: Tokens) {
    this.#tokens = tokens
    this.#expressions = new ExpressionReader(tokens, readQuery)
  }

  statement(): Statement {
    return { ctes: this.#ctes(), body: this.#change() ?? this.#select() }
  }

  query(): Query {
    return { ctes: this.#ctes(), body: this.#select() }
  }

  #ctes(): Query['ctes'] {
    const ctes: Query['ctes'][number][] = []
    if (!this.#tokens.take('with')) return ctes
    do ctes.push(this.#cte())
    while (this.#tokens.take(','))
    return ctes
  }

  #cte() {
    const name = this.#tokens.name()
    this.#tokens.expect('as')
    this.#tokens.take('materialized')
    this.#tokens.expect('(')
    const query = this.query()
    this.#tokens.expect(')')
    return { name, query }
  }

  #change(): Insert | Update | Delete | undefined {
    if (this.#tokens.take('insert', 'into')) return this.#insert()
    if (this.#tokens.take('update')) return this.#update()
    return this.#tokens.take('delete', 'from') ? this.#delete() : undefined
  }

  #select(): Select {
    this.#tokens.expect('select')
    const isEmpty = ['from', 'where', ')'].some((text) => this.#tokens.isAt(text))
    const items = isEmpty || this.#tokens.peek().kind === 'end' ? [] : this.#items()
    const from = this.#tokens.take('from') ? this.#sources() : []
    const where = this.#where()
    const groupBy = this.#tokens.take('group', 'by') ? this.#expressions.list() : []
    const orderBy = this.#tokens.take('order', 'by') ? this.#order() : []
    const limit = this.#tokens.take('limit') ? this.#expressions.read() : undefined
    const locks = this.#tokens.take('for') ? this.#lockMode() : undefined
    return { kind: 'select', items, from, where, groupBy, orderBy, limit, locks }
  }

  #lockMode(): LockMode {
    if (this.#tokens.take('share')) return 'share'
    this.#tokens.expect('no', 'key', 'update')
    return 'no key update'
  }

  #order() {
    const order = []
    do {
      const by = this.#expressions.read()
      order.push({ by, descending: this.#tokens.take('desc') })
    } while (this.#tokens.take(','))
    return order
  }

  #items(): Item[] {
    const items: Item[] = []
    do items.push(this.#item())
    while (this.#tokens.take(','))
    // A column without a name, or with the name of an earlier one, gets its position as a suffix.
    const names = new Set<string>()
    return items.map((item, place) => {
      if (item.star === true) return item
      const needsSuffix = item.as === NAMELESS || names.has(item.as)
      names.add(item.as)
      return needsSuffix ? { ...item, as: item.as + place } : item
    })
  }

  #item(): Item {
    if (this.#tokens.take('*')) return { star: true, of: undefined }
    const [name, dot, star] = [0, 1, 2].map((ahead) => this.#tokens.peek(ahead))
    if (name?.kind === 'name' && dot?.text === '.' && star?.text === '*') {
      for (let count = 0; count < 3; count += 1) this.#tokens.next()
      return { star: true, of: name.text }
    }
    const expression = this.#expressions.read()
    return { expression, as: this.#alias() ?? nameOf(expression) }
  }

  /** An alias, with or without `as`. */
  #alias(): string | undefined {
    if (this.#tokens.take('as')) return this.#tokens.name()
    const token = this.#tokens.peek()
    return token.kind === 'name' && !NOT_ALIASES.has(token.text) ? this.#tokens.name() : undefined
  }

  #sources(): Source[] {
    const sources = [this.#source('cross')]
    for (;;) {
      const join = this.#join()
      if (join === undefined) return sources
      sources.push(this.#source(join))
    }
  }

  #join(): Source['join'] | undefined {
    if (this.#tokens.take(',') || this.#tokens.take('cross', 'join')) return 'cross'
    if (this.#tokens.take('left', 'join')) return 'left'
    return this.#tokens.take('join') ? 'inner' : undefined
  }

  #source(join: Source['join']): Source {
    this.#tokens.take('lateral')
    const from = this.#sourceFrom()
    const as = this.#alias() ?? (from.kind === 'query' ? '' : from.name.replace(/^.*\./, ''))
    const columns = this.#tokens.take('(') ? this.#columnDefinitions() : undefined
    const isJoined = !this.#tokens.isAt('on', 'conflict') && this.#tokens.take('on')
    const on = isJoined ? this.#expressions.read() : undefined
    return { join, on, as, columns, from }
  }

  #sourceFrom(): Source['from'] {
    if (this.#tokens.take('(')) {
      const query = this.query()
      this.#tokens.expect(')')
      return { kind: 'query', query }
    }
    const name = this.#tableName()
    if (!this.#tokens.take('(')) return { kind: 'table', name }
    const parts = this.#expressions.list()
    this.#tokens.expect(')')
    return { kind: 'call', name, parts }
  }

  #tableName(): string {
    const name = this.#tokens.name()
    return this.#tokens.take('.') ? `${name}.${this.#tokens.name()}` : name
  }

  /** After `as name (`: column names, with types for a record set. */
  #columnDefinitions(): ColumnDefinition[] {
    const columns: ColumnDefinition[] = []
    do {
      const name = this.#tokens.name()
      const type = this.#tokens.peek().kind === 'name' ? this.#expressions.type() : undefined
      columns.push({ name, type })
    } while (this.#tokens.take(','))
    this.#tokens.expect(')')
    return columns
  }

  #where(): Expression | undefined {
    return this.#tokens.take('where') ? this.#expressions.read() : undefined
  }

  #returning(): Item[] | undefined {
    return this.#tokens.take('returning') ? this.#items() : undefined
  }

  #insert(): Insert {
    const into = this.#tableName()
    this.#tokens.expect('(')
    const columns = this.#names()
    const rows = this.#tokens.take('values') ? this.#values() : this.#select()
    const conflict = this.#tokens.take('on', 'conflict') ? this.#conflict() : undefined
    return { kind: 'insert', into, columns, rows, conflict, returning: this.#returning() }
  }

  #values(): Expression[][] {
    const rows = []
    do {
      this.#tokens.expect('(')
      rows.push(this.#expressions.list())
      this.#tokens.expect(')')
    } while (this.#tokens.take(','))
    return rows
  }

  #conflict(): Insert['conflict'] {
    const columns = this.#tokens.take('(') ? this.#names() : undefined
    this.#tokens.expect('do')
    if (this.#tokens.take('nothing')) return { columns, set: undefined, where: undefined }
    this.#tokens.expect('update', 'set')
    return { columns, set: this.#assignments(), where: this.#where() }
  }

  #names(): string[] {
    const names = [this.#tokens.name()]
    while (this.#tokens.take(',')) names.push(this.#tokens.name())
    this.#tokens.expect(')')
    return names
  }

  #assignments(): Assignment[] {
    const set = []
    do {
      const column = this.#tokens.name()
      this.#tokens.expect('=')
      set.push({ column, to: this.#expressions.read() })
    } while (this.#tokens.take(','))
    return set
  }

  #update(): Update {
    const table = this.#tableName()
    const as = this.#alias() ?? table
    this.#tokens.expect('set')
    const set = this.#assignments()
    const from = this.#tokens.take('from') ? this.#sources() : []
    const where = this.#where()
    return { kind: 'update', table, as, set, from, where, returning: this.#returning() }
  }

  #delete(): Delete {
    const table = this.#tableName()
    const as = this.#alias() ?? table.replace(/^.*\./, '')
    const from = this.#tokens.take('using') ? this.#sources() : []
    const where = this.#where()
    return { kind: 'delete', table, as, from, where, returning: this.#returning() }
  }
}

/** The name that PostgreSQL gives to a column without an alias. */
function nameOf(expression: Expression): string {
  if (expression.kind === 'column' || expression.kind === 'call') return expression.name
  return expression.kind === 'cast' ? nameOf(expression.part) : NAMELESS
}

const NAMELESS = '?column?'
