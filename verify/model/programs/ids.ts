// Ids of the rows in the model. An id encodes the key that it belongs to, and the key's life: 1 for
// the first reservation of the key, 2 for the second one after it expired, and so on.
import { hash } from 'node:crypto'
import { providerNames } from '../../../src/provider/adapters.ts'
import { isObject, type Value } from '../store/rows.ts'
import { keyOfCancellation } from '../../../src/domain/events/provider-event.ts'

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

const idOf = (kind: number, key: number, life: number): string =>
  `${MODEL_ID_PREFIX}${String(kind).padStart(2, '0')}-${String(key * 100 + life).padStart(12, '0')}`

export const TENANT_ID = idOf(0, 0, 1)
/** The payment whose refunds are explored. */
export const REFUNDED_PAYMENT_ID = idOf(4, 0, 1)

/**
 * @param key number of the client's key.
 * @param life which reservation of the key, from 1.
 */
export const operationIdOf = (key: number, life: number): string => idOf(1, key, life)
export const paymentIdOf = (key: number, life: number): string => idOf(2, key, life)
export const refundIdOf = (key: number, life: number): string => idOf(3, key, life)

const OPERATION_OR_RESOURCE = new RegExp(`${MODEL_ID_PREFIX}0[1-3]-`)

/** Whether the parameters name an operation, or a payment or refund that an operation created. */
export function namesOperation(parameters: readonly unknown[]): boolean {
  return OPERATION_OR_RESOURCE.test(JSON.stringify(parameters))
}

/** The provider to which a payment moves from the first one. The product takes names that it knows. */
export const [, SECOND_PROVIDER = 'none'] = providerNames
/** Whether a space is possible: without a second provider no payment can move. */
export const isPossible = ({ fallback }: { readonly fallback: boolean }): boolean =>
  !fallback || providerNames.length > 1
const AT_SECOND = '@second'

/** The id of a provider's record of an operation: the providers share none. */
export const recordIdOf = (operationId: string, provider: string): string =>
  provider === SECOND_PROVIDER ? `${operationId}${AT_SECOND}` : operationId

export const isAtSecond = (recordId: string): boolean => recordId.endsWith(AT_SECOND)

/** The key and the life that an id belongs to, also the id of a provider's record. */
export function ownerOf(id: string): { readonly key: number; readonly life: number } {
  const number = Number(id.replace(AT_SECOND, '').slice(-12))
  return { key: Math.floor(number / 100), life: number % 100 }
}

/**
 * The keys of clients are below this number. A key that their cancellation began has the number of the
 * client's key as its last digit.
 */
const CLIENT_KEYS = 10

export const isOfClient = (key: number): boolean => key < CLIENT_KEYS

/** The client's key whose cancellation began this one, or the key itself. */
export const clientKeyOf = (key: number): number => key % CLIENT_KEYS

/** The idempotency key that a client sends for a key of the model, or that a cancellation made. */
export function nameOfKey(key: number): string {
  if (isOfClient(key)) return `key-${key}`
  const attempt = Math.floor(key / CLIENT_KEYS) - 1
  const operationId = operationIdOf(clientKeyOf(key), 1)
  return attempt === 0
    ? keyOfCancellation('cancel', operationId)
    : keyOfCancellation('refund', operationId, attempt)
}

/** As in the tombstone of a key. */
export const hashOfKey = (name: string): string => `\\x${hash('sha256', name)}`

const OF_CANCELLATION = /^§cancellation:(cancel|refund):([0-9a-f-]{36})(?::(\d+))?$/

export function keyOfName(name: string): number {
  const [, by, operationId = '', attempt = 1] = OF_CANCELLATION.exec(name) ?? []
  if (by === undefined) return Number(name.slice('key-'.length))
  return (by === 'cancel' ? 1 : 1 + Number(attempt)) * CLIENT_KEYS + ownerOf(operationId).key
}
