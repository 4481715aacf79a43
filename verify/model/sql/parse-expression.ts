// Parses expressions by PostgreSQL's operator precedence.
// https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-PRECEDENCE
import type { Expression, Query } from './syntax.ts'
import type { Tokens } from './tokens.ts'

/**
 * Parses a query in parentheses. Passed in, because statements and expressions contain each other.
 */
export type ReadQuery = (tokens: Tokens) => Query

const COMPARISONS = ['=', '<>', '<=', '>=', '<', '>']
const OTHER_OPERATORS = ['||', '->>', '~', '?']
/** The units of an interval. */
const SECONDS_BY_UNIT: Readonly<Record<string, number>> = {
  millisecond: 0.001,
  milliseconds: 0.001,
  second: 1,
  seconds: 1,
  day: 86_400,
  days: 86_400,
}

export class ExpressionReader {
  readonly #tokens: Tokens
  readonly #readQuery: ReadQuery

  constructor(tokens: Tokens, readQuery: ReadQuery) {
    this.#tokens = tokens
    this.#readQuery = readQuery
  }

  read(): Expression {
    let left = this.#conjunction()
    while (this.#tokens.take('or')) {
      left = { kind: 'operation', operator: 'or', left, right: this.#conjunction() }
    }
    return left
  }

  list(): Expression[] {
    const parts = [this.read()]
    while (this.#tokens.take(',')) parts.push(this.read())
    return parts
  }

  #conjunction(): Expression {
    let left = this.#negation()
    while (this.#tokens.take('and')) {
      left = { kind: 'operation', operator: 'and', left, right: this.#negation() }
    }
    return left
  }

  #negation(): Expression {
    if (this.#tokens.isAt('not') && !this.#tokens.isAt('not', 'in')) {
      this.#tokens.next()
      return { kind: 'not', part: this.#negation() }
    }
    return this.#test()
  }

  #test(): Expression {
    let left = this.#comparison()
    while (this.#tokens.take('is')) {
      const negated = this.#tokens.take('not')
      const test: Expression = this.#tokens.take('distinct', 'from')
        ? { kind: 'is_distinct', left, right: this.#comparison() }
        : this.#isNull(left)
      left = negated ? { kind: 'not', part: test } : test
    }
    return left
  }

  #isNull(part: Expression): Expression {
    this.#tokens.expect('null')
    return { kind: 'is_null', part }
  }

  #comparison(): Expression {
    let left = this.#membership()
    for (;;) {
      const operator = this.#oneOf(COMPARISONS)
      if (operator === undefined) return left
      if (operator === '=' && this.#tokens.take('any')) {
        left = { kind: 'is_any', left, array: this.#array() }
      } else if (operator === '<>' && this.#tokens.take('all')) {
        left = { kind: 'not', part: { kind: 'is_any', left, array: this.#array() } }
      } else {
        left = { kind: 'operation', operator, left, right: this.#membership() }
      }
    }
  }

  #array(): Expression {
    this.#tokens.expect('(')
    const array = this.read()
    this.#tokens.expect(')')
    return array
  }

  #membership(): Expression {
    const part = this.#other()
    const negated = this.#tokens.isAt('not', 'in') && this.#tokens.take('not')
    const test = this.#inOrBetween(part)
    return negated ? { kind: 'not', part: test } : test
  }

  #inOrBetween(part: Expression): Expression {
    if (this.#tokens.take('between')) {
      const low = this.#other()
      this.#tokens.expect('and')
      const high = this.#other()
      return {
        kind: 'operation',
        operator: 'and',
        left: { kind: 'operation', operator: '>=', left: part, right: low },
        right: { kind: 'operation', operator: '<=', left: part, right: high },
      }
    }
    if (!this.#tokens.take('in')) return part
    this.#tokens.expect('(')
    const test: Expression = this.#isAtQuery()
      ? { kind: 'in_query', part, query: this.#readQuery(this.#tokens) }
      : { kind: 'in_list', part, list: this.list() }
    this.#tokens.expect(')')
    return test
  }

  #other(): Expression {
    let left = this.#sum()
    for (;;) {
      const operator = this.#oneOf(OTHER_OPERATORS)
      if (operator === undefined) return left
      left = { kind: 'operation', operator, left, right: this.#sum() }
    }
  }

  #sum(): Expression {
    let left = this.#product()
    for (;;) {
      const operator = this.#oneOf(['+', '-'])
      if (operator === undefined) return left
      left = { kind: 'operation', operator, left, right: this.#product() }
    }
  }

  #product(): Expression {
    let left = this.#cast()
    for (;;) {
      const operator = this.#oneOf(['*', '/'])
      if (operator === undefined) return left
      left = { kind: 'operation', operator, left, right: this.#cast() }
    }
  }

  #cast(): Expression {
    let part = this.#primary()
    while (this.#tokens.take('::')) part = { kind: 'cast', part, to: this.type() }
    return part
  }

  /** The name of a type, with the suffix `[]` for arrays. */
  type(): string {
    const name = this.#tokens.name()
    return this.#tokens.take('[', ']') ? `${name}[]` : name
  }

  #primary(): Expression {
    const token = this.#tokens.next()
    if (token.kind === 'number') return { kind: 'constant', value: Number(token.text) }
    if (token.kind === 'string') return { kind: 'constant', value: token.text }
    if (token.kind === 'parameter') return { kind: 'parameter', index: Number(token.text) - 1 }
    if (token.kind === 'symbol' && token.text === '(') return this.#parenthesized()
    if (token.kind !== 'name') throw this.#tokens.unknown('expected an expression')
    return this.#named(token.text)
  }

  #parenthesized(): Expression {
    if (this.#isAtQuery()) {
      const query = this.#readQuery(this.#tokens)
      this.#tokens.expect(')')
      return { kind: 'scalar', query }
    }
    const [first, ...others] = this.list()
    this.#tokens.expect(')')
    if (first === undefined) throw this.#tokens.unknown('expected an expression')
    return others.length === 0 ? first : { kind: 'row', parts: [first, ...others] }
  }

  #named(name: string): Expression {
    switch (name) {
      case 'null':
        return { kind: 'constant', value: null }
      case 'true':
        return { kind: 'constant', value: true }
      case 'false':
        return { kind: 'constant', value: false }
      case 'case':
        return this.#case()
      case 'exists':
        return this.#exists()
      case 'array':
        return this.#arrayLiteral()
      case 'interval':
        return this.#interval()
      case 'extract':
        return this.#extract()
    }
    if (this.#tokens.take('(')) return this.#call(name)
    if (!this.#tokens.take('.')) return { kind: 'column', of: undefined, name }
    return { kind: 'column', of: name, name: this.#tokens.name() }
  }

  #call(name: string): Expression {
    const parts = this.#tokens.isAt(')') ? [] : this.list()
    this.#tokens.expect(')')
    return { kind: 'call', name, parts }
  }

  #case(): Expression {
    const subject = this.#tokens.isAt('when') ? undefined : this.read()
    const branches = []
    while (this.#tokens.take('when')) {
      const when = this.read()
      this.#tokens.expect('then')
      branches.push({ when, value: this.read() })
    }
    const otherwise = this.#tokens.take('else') ? this.read() : undefined
    this.#tokens.expect('end')
    return { kind: 'case', subject, branches, otherwise }
  }

  #exists(): Expression {
    this.#tokens.expect('(')
    const query = this.#readQuery(this.#tokens)
    this.#tokens.expect(')')
    return { kind: 'exists', query }
  }

  #arrayLiteral(): Expression {
    this.#tokens.expect('[')
    const parts = this.list()
    this.#tokens.expect(']')
    return { kind: 'array', parts }
  }

  /** In seconds, like all durations in the model. */
  #interval(): Expression {
    const [count = '', unit = 'second'] = this.#tokens.next().text.split(' ')
    const seconds = SECONDS_BY_UNIT[unit]
    if (seconds === undefined) throw this.#tokens.unknown('expected an interval')
    return { kind: 'constant', value: Number(count) * seconds }
  }

  #extract(): Expression {
    this.#tokens.expect('(', 'epoch', 'from')
    const part = this.read()
    this.#tokens.expect(')')
    return part
  }

  #isAtQuery(): boolean {
    return this.#tokens.isAt('select') || this.#tokens.isAt('with')
  }

  #oneOf(operators: readonly string[]): string | undefined {
    return operators.find((operator) => this.#tokens.take(operator))
  }
}
