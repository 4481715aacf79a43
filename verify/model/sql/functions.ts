// The SQL functions and operators that the product's statements use.
import { toText, isObject, type Value } from '../store/rows.ts'
import { INTENT_REFUSED, STALE_RESOURCE } from '../../../src/db/connection/store-errors.ts'
import { DIVISION_BY_ZERO, postgresError } from '../store/store-errors.ts'
import { compare } from './compare.ts'
import { UnknownSqlError } from './tokens.ts'

type Call = (...parts: Value[]) => Value

/** Functions of values only; `evaluate.ts` has those that need the store. */
const functions: Readonly<Record<string, Call>> = {
  now: () => 0,
  coalesce: (...parts) => parts.find((part) => part !== null) ?? null,
  greatest: (...parts) => Math.max(...parts.filter((part) => part !== null).map(Number)),
  num_nonnulls: (...parts) => parts.filter((part) => part !== null).length,
  jsonb_build_object: (...parts) => buildObject(parts),
  jsonb_strip_nulls: (part = null) => (isObject(part) ? withoutNulls(part) : part),
  to_jsonb: (part = null) => part,
  length: (part = null) => (part === null ? null : lengthOf(part)),
  left: (text = null, count = null) =>
    text === null ? null : toText(text).slice(0, Number(count)),
  right: (text = null, count = null) => (text === null ? null : toText(text).slice(-Number(count))),
  convert_to: (text = null) => text,
  // Not a hash, but different texts have different results; `length` counts it as 32 bytes.
  sha256: (text = null) =>
    text === null ? null : `\\x${Buffer.from(toText(text)).toString('hex')}`,
  set_config: (_name = null, value = null) => value,
  raise_intent_refused: () => raise(INTENT_REFUSED),
  raise_stale_resource: () => raise(STALE_RESOURCE),
}

function raise(sqlstate: string): never {
  throw postgresError(sqlstate, 'raised by the statement')
}

/** Functions that turn many rows into one value. */
export const AGGREGATES = new Set(['count', 'min', 'max'])

export function callFunction(name: string, parts: Value[]): Value {
  const call = functions[name]
  if (call === undefined) throw new UnknownSqlError(`unknown function ${name}`)
  return call(...parts)
}

export function aggregate(name: string, values: readonly Value[]): Value {
  if (name === 'count') return values.length
  const numbers = values.filter((value) => value !== null).map(Number)
  if (numbers.length === 0) return null
  return name === 'min' ? Math.min(...numbers) : Math.max(...numbers)
}

function buildObject(parts: readonly Value[]): Value {
  const built: Record<string, Value> = {}
  for (let at = 0; at < parts.length; at += 2) built[toText(parts[at])] = parts[at + 1] ?? null
  return built
}

function withoutNulls(parts: Readonly<Record<string, Value>>): Value {
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== null))
}

function withoutMember(members: Readonly<Record<string, Value>>, name: string): Value {
  return Object.fromEntries(Object.entries(members).filter(([own]) => own !== name))
}

/** The stand-in for a hash counts as 32 bytes, like SHA-256. */
const HASH_LENGTH = 32

function lengthOf(part: Value): number {
  const text = toText(part)
  return text.startsWith('\\x') ? HASH_LENGTH : text.length
}

const comparisons: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '>': (order) => order > 0,
  '<=': (order) => order <= 0,
  '>=': (order) => order >= 0,
}

const operators: Readonly<Record<string, (left: Value, right: Value) => Value>> = {
  '+': (left, right) => Number(left) + Number(right),
  '-': (left, right) =>
    isObject(left) ? withoutMember(left, toText(right)) : Number(left) - Number(right),
  '*': (left, right) => Number(left) * Number(right),
  '/': divide,
  '||': (left, right) =>
    isObject(left) && isObject(right) ? { ...left, ...right } : `${toText(left)}${toText(right)}`,
  '->': (left, right) => (isObject(left) ? (left[toText(right)] ?? null) : null),
  '->>': (left, right) => (isObject(left) ? textOf(left[toText(right)] ?? null) : null),
  '?': (left, right) => isObject(left) && Object.hasOwn(left, toText(right)),
  '~': (left, right) => new RegExp(toText(right)).test(toText(left)),
  '&&': (left, right) => listOf(left).some((part) => listOf(right).includes(part)),
}

/** @throws UnknownSqlError for an operator that is not implemented. */
export function operate(operator: string, left: Value, right: Value): Value {
  const holds = comparisons[operator]
  if (holds !== undefined) {
    const order = compare(left, right)
    return order === undefined ? null : holds(order)
  }
  const operation = operators[operator]
  if (operation === undefined) throw new UnknownSqlError(`unknown operator ${operator}`)
  return left === null || right === null ? null : operation(left, right)
}

/** Integer division: all numbers of the product are integers. */
function divide(left: Value, right: Value): Value {
  if (right === 0) throw postgresError(DIVISION_BY_ZERO, 'division by zero')
  return Math.trunc(Number(left) / Number(right))
}

const textOf = (value: Value): Value =>
  value === null || typeof value === 'string' ? value : JSON.stringify(value)

export const listOf = (value: Value): readonly Value[] => (Array.isArray(value) ? value : [])

const NUMBERS = new Set(['int', 'integer', 'smallint', 'bigint', 'float8'])

export function cast(value: Value, to: string): Value {
  if (value === null) return null
  if (to.endsWith('[]')) return typeof value === 'string' ? arrayOf(value) : value
  if (NUMBERS.has(to)) return Number(value)
  if (to === 'boolean') return value === true || value === 'true'
  if (to === 'jsonb') return typeof value === 'string' ? (JSON.parse(value) as Value) : value
  if (to === 'timestamptz') return typeof value === 'string' ? timestampOf(value) : value
  if (to === 'text') return textOf(value)
  return value
}

/** An array literal, as constraints contain them. */
function arrayOf(text: string): Value {
  return text.slice(1, -1).split(',')
}

function timestampOf(text: string): number {
  if (text === '-infinity') return -1e12
  const seconds = Number(text)
  return Number.isNaN(seconds) ? Date.parse(text) / 1_000 : seconds
}
