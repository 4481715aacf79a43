// Splits the text of a statement into tokens.

export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'parameter' | 'symbol' | 'end'
  readonly text: string
}

/** The model does not support this part of SQL. A new statement of the product uses it. */
export class UnknownSqlError extends Error {
  override name = 'UnknownSqlError'
}

const PATTERN =
  /(?<blank>\s+|--[^\n]*)|(?<number>\d+(?:\.\d+)?)|(?<string>'(?:[^']|'')*')|"(?<quoted>[^"]+)"|\$(?<parameter>\d+)|(?<name>[a-z_]\w*)|(?<symbol>::|->>|\|\||<>|<=|>=|[-+*/=<>~?(),.[\]])/iy

/** @throws UnknownSqlError for text that is not a token. */
function readTokens(text: string): Token[] {
  const tokens: Token[] = []
  PATTERN.lastIndex = 0
  while (PATTERN.lastIndex < text.length) {
    const at = PATTERN.lastIndex
    const groups = PATTERN.exec(text)?.groups
    if (groups === undefined) throw new UnknownSqlError(`not a token: ${text.slice(at, at + 40)}`)
    const token = tokenOf(groups)
    if (token !== undefined) tokens.push(token)
  }
  return [...tokens, { kind: 'end', text: '' }]
}

function tokenOf(groups: Readonly<Record<string, string | undefined>>): Token | undefined {
  const { number, string, quoted, parameter, name, symbol } = groups
  if (number !== undefined) return { kind: 'number', text: number }
  if (string !== undefined) {
    return { kind: 'string', text: string.slice(1, -1).replaceAll("''", "'") }
  }
  if (quoted !== undefined) return { kind: 'name', text: quoted }
  if (parameter !== undefined) return { kind: 'parameter', text: parameter }
  if (name !== undefined) return { kind: 'name', text: name.toLowerCase() }
  return symbol === undefined ? undefined : { kind: 'symbol', text: symbol }
}

/** Reads tokens one by one. */
export class Tokens {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(text: string) {
    this.#tokens = readTokens(text)
  }

  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)] as Token
  }

  next(): Token {
    const token = this.peek()
    this.#at += 1
    return token
  }

  /** Whether these words or symbols come next. */
  isAt(...texts: readonly string[]): boolean {
    return texts.every((text, ahead) => {
      const token = this.peek(ahead)
      return token.text === text && (token.kind === 'name' || token.kind === 'symbol')
    })
  }

  /** Consumes these words or symbols if they come next. */
  take(...texts: readonly string[]): boolean {
    if (!this.isAt(...texts)) return false
    this.#at += texts.length
    return true
  }

  /** @throws UnknownSqlError when something else comes next. */
  expect(...texts: readonly string[]): void {
    if (!this.take(...texts)) throw this.unknown(`expected ${texts.join(' ')}`)
  }

  /** @throws UnknownSqlError when no name comes next. */
  name(): string {
    const token = this.next()
    if (token.kind !== 'name') throw this.unknown('expected a name')
    return token.text
  }

  unknown(what: string): UnknownSqlError {
    const from = Math.max(0, this.#at - 8)
    const around = this.#tokens.slice(from, this.#at + 8).map(({ text }) => text)
    return new UnknownSqlError(`${what}: ... ${around.join(' ')} ...`)
  }
}
